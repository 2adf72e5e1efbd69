"""Addresses of windows: random public ids and numbers, never text of a note or a record."""

from __future__ import annotations

from django.urls import URLPattern, path

from cohorts.views.windows import answering, editing, listing, results

_ONE = "cohorts/windows/<public_id:public_id>/"
_RESULT = "cohorts/results/<public_id:public_id>/"

urlpatterns: list[URLPattern] = [
    path("cohorts/windows/", listing.windows, name="windows"),
    path("cohorts/windows/new/", editing.window_new, name="window_new"),
    path(_ONE, listing.window, name="window"),
    path(f"{_ONE}edit/", editing.window_edit, name="window_edit"),
    path(f"{_ONE}archive/", listing.window_archive, name="window_archive"),
    path(f"{_ONE}evaluate/", listing.window_evaluate, name="window_evaluate"),
    path(f"{_ONE}aces/", listing.window_aces, name="window_aces"),
    path(_RESULT, results.window_result, name="window_result"),
    path(f"{_RESULT}update/", results.window_result_update, name="window_result_update"),
    path(f"{_RESULT}retry/", results.window_result_retry, name="window_result_retry"),
    path(f"{_RESULT}cancel/", results.window_result_cancel, name="window_result_cancel"),
    path(f"{_RESULT}csv/", results.window_result_csv, name="window_result_csv"),
    path(
        f"{_RESULT}<number:number>/answer/",
        answering.window_member_answer,
        name="window_member_answer",
    ),
]
