"""Addresses of answers to a case: corrections, comments, flags.

They contain random public ids and UIDs, never text.
"""

from __future__ import annotations

from django.urls import URLPattern, path

from timelines.views.curation import comments, corrections, links, listing

_CASE = "cases/<public_id:public_id>"
_OCCURRENCE = f"{_CASE}/o/<uid4:uid4>"

urlpatterns: list[URLPattern] = [
    path(f"{_CASE}/answers/", listing.show_answers, name="case_answers"),
    path(f"{_OCCURRENCE}/correct/", corrections.form, name="correct_form"),
    path(f"{_OCCURRENCE}/corrections/", corrections.correct, name="correct"),
    path(f"{_OCCURRENCE}/settlements/", corrections.settle, name="settle"),
    path(f"{_OCCURRENCE}/links/", links.link, name="link"),
    path(f"{_OCCURRENCE}/links/<public_id:link>/undo/", links.undo, name="link_undo"),
    path(f"{_OCCURRENCE}/comments/", comments.comment, name="comment"),
    path(f"{_OCCURRENCE}/flags/", comments.flag, name="flag"),
    path(
        f"{_CASE}/corrections/<public_id:correction>/undo/",
        corrections.undo,
        name="correction_undo",
    ),
    path(f"{_CASE}/comments/<public_id:comment>/<slug:step>/", comments.step, name="comment_step"),
    path(f"{_CASE}/flags/<public_id:flag>/withdraw/", comments.withdraw_flag, name="flag_withdraw"),
    path(f"{_CASE}/answers/time/", corrections.time, name="answer_time"),
    path(f"{_CASE}/answers/rows/", corrections.rows, name="answer_rows"),
]
