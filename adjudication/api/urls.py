"""Addresses of the API of adjudication. They carry random public ids, as those of the pages do."""

from __future__ import annotations

from django.urls import URLPattern, path

from adjudication.api.judging import finding_views as findings
from adjudication.api.judging import report_views as report
from adjudication.api.judging import views as judging
from adjudication.api.packets import card_views as report_card
from adjudication.api.packets import views as packets
from adjudication.api.review import end_views as review_end
from adjudication.api.review import views as review

app_name = "adjudication_api"

_RUN = "judge-runs/<public_id:run_id>/"
_PACKET = "packets/<public_id:public_id>/"
_PERSON = f"{_PACKET}assignments/<public_id:assignment_id>/"
_ITEM = "review/<public_id:public_id>/items/<public_id:item_id>/"
urlpatterns: list[URLPattern] = [
    path("judge-runs/", judging.JudgeRuns.as_view(), name="judge_runs"),
    path("judge-runs/choices/", judging.JudgeChoices.as_view(), name="judge_choices"),
    path(_RUN, judging.JudgeRunOne.as_view(), name="judge_run"),
    path(f"{_RUN}games/", judging.Games.as_view(), name="judge_games"),
    path(f"{_RUN}games/files/<slug:form>/", report.GamesFile.as_view(), name="games_file"),
    path(f"{_RUN}findings/", findings.Findings.as_view(), name="findings"),
    path(f"{_RUN}findings/files/<slug:form>/", report.FindingsFile.as_view(), name="findings_file"),
    path(f"{_RUN}report/", report.JudgeReport.as_view(), name="judge_report"),
    path(
        f"{_RUN}report/<slug:name>/<slug:form>/",
        report.JudgeReportTable.as_view(),
        name="judge_report_table",
    ),
    path(
        f"{_RUN}changes/<public_id:later_id>/",
        findings.JudgeRunChanges.as_view(),
        name="judge_changes",
    ),
    path(
        f"{_RUN}actions/<slug:action>/", judging.JudgeRunAction.as_view(), name="judge_run_action"
    ),
    path("games/<public_id:game_id>/", judging.GameOne.as_view(), name="judge_game"),
    path("games/<public_id:game_id>/again/", judging.GameAgain.as_view(), name="judge_game_again"),
    path("findings/<public_id:finding_id>/", findings.FindingOne.as_view(), name="finding"),
    path(
        "cases/<public_id:case_id>/comparison/",
        findings.CaseComparison.as_view(),
        name="comparison",
    ),
    path(f"{_RUN}eligible/", packets.Eligible.as_view(), name="packet_eligible"),
    path(f"{_RUN}draw/preview/", packets.Preview.as_view(), name="packet_preview"),
    path(f"{_RUN}draw/", packets.Draw.as_view(), name="packet_draw"),
    path("packets/", packets.Packets.as_view(), name="packets"),
    path(_PACKET, packets.PacketOne.as_view(), name="packet"),
    path(f"{_PACKET}actions/<slug:action>/", packets.PacketStep.as_view(), name="packet_step"),
    path(f"{_PACKET}second/", packets.Second.as_view(), name="packet_second"),
    path(f"{_PACKET}changed/", packets.Changed.as_view(), name="packet_changed"),
    path(f"{_PACKET}candidates/", packets.Candidates.as_view(), name="packet_candidates"),
    path(f"{_PACKET}assignments/", packets.Assignments.as_view(), name="packet_assign"),
    path(f"{_PERSON}withdraw/", packets.Withdraw.as_view(), name="packet_withdraw"),
    path(f"{_PERSON}unsign/", packets.VoidSignature.as_view(), name="packet_unsign"),
    path(f"{_PACKET}report/", report_card.ReportCard.as_view(), name="packet_report"),
    path(
        f"{_PACKET}report/<slug:name>/<slug:form>/",
        report_card.ReportCardTable.as_view(),
        name="packet_report_table",
    ),
    path(
        f"{_PACKET}decisions/<slug:form>/",
        report_card.DecisionsFile.as_view(),
        name="packet_decisions",
    ),
    path("review/", review.Reviews.as_view(), name="reviews"),
    path("review/<public_id:public_id>/", review.Review.as_view(), name="review"),
    path("review/<public_id:public_id>/next/", review.NextItem.as_view(), name="review_next"),
    path("review/<public_id:public_id>/undo/", review.Undo.as_view(), name="review_undo"),
    path("review/<public_id:public_id>/answers/", review.Answers.as_view(), name="review_answers"),
    path(
        "review/<public_id:public_id>/practice/",
        review_end.Practice.as_view(),
        name="review_practice",
    ),
    path(
        "review/<public_id:public_id>/practice/<number:number>/",
        review_end.PracticeOne.as_view(),
        name="review_practice_case",
    ),
    path(
        "review/<public_id:public_id>/check/",
        review_end.BlindingCheck.as_view(),
        name="review_check",
    ),
    path("review/<public_id:public_id>/sign/", review_end.Sign.as_view(), name="review_sign"),
    path("review/<public_id:public_id>/unsign/", review_end.Unsign.as_view(), name="review_unsign"),
    path(
        "review/<public_id:public_id>/receipt/", review_end.Receipt.as_view(), name="review_receipt"
    ),
    path(_ITEM, review.Item.as_view(), name="review_item"),
    path(f"{_ITEM}series/<number:number>/", review.ItemSeries.as_view(), name="review_series"),
    path(f"{_ITEM}draft/", review.Draft.as_view(), name="review_draft"),
    path(f"{_ITEM}skip/", review.Skip.as_view(), name="review_skip"),
    path(f"{_ITEM}flag/", review.Flag.as_view(), name="review_flag"),
    path(f"{_ITEM}decide/", review.Decide.as_view(), name="review_decide"),
    path(f"{_ITEM}amend/", review.Amend.as_view(), name="review_amend"),
]
