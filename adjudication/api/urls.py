"""Addresses of the API of adjudication.

They contain random public ids, as those of the pages do.
"""

from __future__ import annotations

from django.urls import URLPattern, path

from accounts.api_access.access import ApiView
from adjudication.api.judging import finding_views as findings
from adjudication.api.judging import report_views as report
from adjudication.api.judging import views as judging
from adjudication.api.packets import card_views as report_card
from adjudication.api.packets import search_views as searches
from adjudication.api.packets import views as packets
from adjudication.api.recipes import report_views as study_report
from adjudication.api.recipes import views as recipes
from adjudication.api.review import end_views as review_end
from adjudication.api.review import search_views as review_search
from adjudication.api.review import views as review

app_name = "adjudication_api"

_RUN = "judge-runs/<public_id:run_id>/"
_PACKET = "packets/<public_id:public_id>/"
_PERSON = f"{_PACKET}assignments/<public_id:assignment_id>/"
_RECIPE = "recipes/<public_id:public_id>/"
_LAUNCH = "launches/<public_id:public_id>/"
_REVIEW = "review/<public_id:public_id>/"
_SEARCH = f"{_REVIEW}searches/<public_id:search_id>/"
_ITEM = f"{_REVIEW}items/<public_id:item_id>/"
_ADDRESSES: list[tuple[str, type[ApiView], str]] = [
    ("judge-runs/", judging.JudgeRuns, "judge_runs"),
    ("judge-runs/choices/", judging.JudgeChoices, "judge_choices"),
    (_RUN, judging.JudgeRunOne, "judge_run"),
    (f"{_RUN}games/", judging.Games, "judge_games"),
    (f"{_RUN}games/files/<slug:form>/", report.GamesFile, "games_file"),
    (f"{_RUN}findings/", findings.Findings, "findings"),
    (f"{_RUN}findings/files/<slug:form>/", report.FindingsFile, "findings_file"),
    (f"{_RUN}report/", report.JudgeReport, "judge_report"),
    (f"{_RUN}report/<slug:name>/<slug:form>/", report.JudgeReportTable, "judge_report_table"),
    (f"{_RUN}changes/<public_id:later_id>/", findings.JudgeRunChanges, "judge_changes"),
    (f"{_RUN}actions/<slug:action>/", judging.JudgeRunAction, "judge_run_action"),
    ("games/<public_id:game_id>/", judging.GameOne, "judge_game"),
    ("games/<public_id:game_id>/again/", judging.GameAgain, "judge_game_again"),
    ("findings/<public_id:finding_id>/", findings.FindingOne, "finding"),
    ("cases/<public_id:case_id>/comparison/", findings.CaseComparison, "comparison"),
    (f"{_RUN}eligible/", packets.Eligible, "packet_eligible"),
    (f"{_RUN}draw/preview/", packets.Preview, "packet_preview"),
    (f"{_RUN}draw/", packets.Draw, "packet_draw"),
    ("packets/", packets.Packets, "packets"),
    (_PACKET, packets.PacketOne, "packet"),
    (f"{_PACKET}actions/<slug:action>/", packets.PacketStep, "packet_step"),
    (f"{_PACKET}due/", packets.DueDate, "packet_due_date"),
    (f"{_PACKET}second/", packets.Second, "packet_second"),
    (f"{_PACKET}changed/", packets.Changed, "packet_changed"),
    (f"{_PACKET}candidates/", packets.Candidates, "packet_candidates"),
    (f"{_PACKET}assignments/", packets.Assignments, "packet_assign"),
    (f"{_PERSON}withdraw/", packets.Withdraw, "packet_withdraw"),
    (f"{_PERSON}unsign/", packets.VoidSignature, "packet_unsign"),
    (f"{_PACKET}report/", report_card.ReportCard, "packet_report"),
    (
        f"{_PACKET}report/<slug:name>/<slug:form>/",
        report_card.ReportCardTable,
        "packet_report_table",
    ),
    (f"{_PACKET}decisions/<slug:form>/", report_card.DecisionsFile, "packet_decisions"),
    (f"{_PACKET}searches/", searches.Searches, "packet_searches"),
    (f"{_PACKET}searches/<public_id:search_id>/", searches.SearchOne, "packet_search"),
    (f"{_PACKET}notes/", searches.Notes, "packet_notes"),
    ("recipes/", recipes.Recipes, "recipes"),
    (_RECIPE, recipes.RecipeOne, "recipe"),
    (f"{_RECIPE}launch/", recipes.RecipeLaunches, "recipe_launch"),
    ("launches/", recipes.Launches, "launches"),
    (_LAUNCH, recipes.LaunchOne, "launch"),
    (f"{_LAUNCH}actions/<slug:action>/", recipes.LaunchStep, "launch_step"),
    (f"{_LAUNCH}report/", study_report.LaunchReport, "launch_report"),
    (f"{_LAUNCH}report/<slug:form>/", study_report.LaunchReportFile, "launch_report_file"),
    ("planted/<public_id:public_id>/", recipes.PlantedOne, "planted_recall"),
    ("review/", review.Reviews, "reviews"),
    (_REVIEW, review.Review, "review"),
    (f"{_REVIEW}next/", review.NextItem, "review_next"),
    (f"{_REVIEW}undo/", review.Undo, "review_undo"),
    (f"{_REVIEW}answers/", review.Answers, "review_answers"),
    (f"{_REVIEW}practice/", review_end.Practice, "review_practice"),
    (f"{_REVIEW}practice/<number:number>/", review_end.PracticeOne, "review_practice_case"),
    (f"{_REVIEW}check/", review_end.BlindingCheck, "review_check"),
    (f"{_REVIEW}sign/", review_end.Sign, "review_sign"),
    (f"{_REVIEW}unsign/", review_end.Unsign, "review_unsign"),
    (f"{_REVIEW}receipt/", review_end.Receipt, "review_receipt"),
    (f"{_REVIEW}searches/", review_search.Searches, "review_searches"),
    (_SEARCH, review_search.SearchOne, "review_search"),
    (f"{_SEARCH}differences/", review_search.Differences, "review_differences"),
    (
        f"{_SEARCH}differences/<number:number>/",
        review_search.DifferenceOne,
        "review_difference",
    ),
    (f"{_SEARCH}submit/", review_search.Submit, "review_search_submit"),
    (_ITEM, review.Item, "review_item"),
    (f"{_ITEM}series/<number:number>/", review.ItemSeries, "review_series"),
    (f"{_ITEM}timelines/", review.ItemTimelines, "review_timelines"),
    (f"{_ITEM}draft/", review.Draft, "review_draft"),
    (f"{_ITEM}skip/", review.Skip, "review_skip"),
    (f"{_ITEM}flag/", review.Flag, "review_flag"),
    (f"{_ITEM}decide/", review.Decide, "review_decide"),
    (f"{_ITEM}amend/", review.Amend, "review_amend"),
]
urlpatterns: list[URLPattern] = [
    path(address, view.as_view(), name=name) for address, view, name in _ADDRESSES
]
