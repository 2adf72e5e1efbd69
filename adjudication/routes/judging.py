"""Addresses of judge runs, findings and comparisons."""

from __future__ import annotations

from django.urls import URLPattern, path

from adjudication.views.findings import compare
from adjudication.views.findings import pages as findings
from adjudication.views.judge_runs import changes as judge_changes
from adjudication.views.judge_runs import games as judge_games
from adjudication.views.judge_runs import pages as judge_runs

urlpatterns: list[URLPattern] = [
    path("adjudication/runs/", judge_runs.judge_runs, name="judge_runs"),
    path("adjudication/runs/new/", judge_runs.judge_run_new, name="judge_run_new"),
    path("adjudication/runs/<public_id:public_id>/", judge_runs.judge_run, name="judge_run"),
    path(
        "adjudication/runs/<public_id:public_id>/calls/",
        judge_runs.judge_run_calls,
        name="judge_run_calls",
    ),
    path("adjudication/runs/<public_id:public_id>/findings/", findings.findings, name="findings"),
    path(
        "adjudication/runs/<public_id:public_id>/changes/<public_id:later_id>/",
        judge_changes.judge_changes,
        name="judge_changes",
    ),
    path(
        "adjudication/runs/<public_id:public_id>/games/<public_id:game_id>/",
        judge_games.judge_game,
        name="judge_game",
    ),
    path(
        "adjudication/runs/<public_id:public_id>/games/<public_id:game_id>/again/",
        judge_games.judge_game_again,
        name="judge_game_again",
    ),
    path(
        "adjudication/runs/<public_id:public_id>/<slug:action>/",
        judge_runs.judge_run_action,
        name="judge_run_action",
    ),
    path("adjudication/calls/<public_id:public_id>/", judge_games.judge_call, name="judge_call"),
    path("adjudication/findings/<public_id:public_id>/", findings.finding, name="finding"),
    path("cases/<public_id:public_id>/compare/", compare.compare, name="compare"),
]
