"""Addresses of the blinded review, with random public ids only."""

from __future__ import annotations

from django.urls import URLPattern, path

from adjudication.views import asking
from adjudication.views.review import pages as review
from adjudication.views.review import practice as review_practice
from adjudication.views.review import searching as review_searching
from adjudication.views.review import signing as review_signing
from adjudication.views.review import steps as review_steps

urlpatterns: list[URLPattern] = [
    path("review/open-anyway/", asking.open_anyway, name="open_anyway"),
    path("review/guidelines/", review.review_guidelines, name="review_guidelines"),
    path("review/", review.review_queue, name="review_queue"),
    path("review/<public_id:public_id>/", review.review_packet, name="review_packet"),
    path("review/<public_id:public_id>/item/", review.review_item, name="review_item"),
    path("review/<public_id:public_id>/next/", review_steps.review_next, name="review_next"),
    path("review/<public_id:public_id>/undo/", review_steps.review_undo, name="review_undo"),
    path("review/<public_id:public_id>/answers/", review.review_history, name="review_history"),
    path("review/<public_id:public_id>/check/", review_signing.review_guess, name="review_guess"),
    path("review/<public_id:public_id>/sign/", review_signing.review_sign, name="review_sign"),
    path(
        "review/<public_id:public_id>/unsign/", review_signing.review_unsign, name="review_unsign"
    ),
    path(
        "review/<public_id:public_id>/receipt/",
        review_signing.review_receipt,
        name="review_receipt",
    ),
    path(
        "review/<public_id:public_id>/receipt/file/",
        review_signing.review_receipt_file,
        name="review_receipt_file",
    ),
    path(
        "review/<public_id:public_id>/practice/",
        review_practice.review_practice,
        name="review_practice",
    ),
    path(
        "review/<public_id:public_id>/practice/undo/",
        review_practice.review_practice_undo,
        name="review_practice_undo",
    ),
    path(
        "review/<public_id:public_id>/practice/<number:number>/",
        review_practice.review_practice_case,
        name="review_practice_case",
    ),
    path(
        "review/<public_id:public_id>/practice/<number:number>/decide/",
        review_practice.review_practice_decide,
        name="review_practice_decide",
    ),
    path(
        "review/<public_id:public_id>/practice/<number:number>/skip/",
        review_practice.review_practice_skip,
        name="review_practice_skip",
    ),
    path(
        "review/<public_id:public_id>/practice/<number:number>/flag/",
        review_practice.review_practice_flag,
        name="review_practice_flag",
    ),
    path(
        "review/<public_id:public_id>/searches/<public_id:search_id>/",
        review_searching.review_search,
        name="review_search",
    ),
    path(
        "review/<public_id:public_id>/items/<public_id:item_id>/",
        review.review_chosen,
        name="review_chosen",
    ),
    path(
        "review/<public_id:public_id>/items/<public_id:item_id>/decide/",
        review_steps.review_decide,
        name="review_decide",
    ),
    path(
        "review/<public_id:public_id>/items/<public_id:item_id>/draft/",
        review_steps.review_draft,
        name="review_draft",
    ),
    path(
        "review/<public_id:public_id>/items/<public_id:item_id>/skip/",
        review_steps.review_skip,
        name="review_skip",
    ),
    path(
        "review/<public_id:public_id>/items/<public_id:item_id>/flag/",
        review_steps.review_flag,
        name="review_flag",
    ),
    path(
        "review/<public_id:public_id>/items/<public_id:item_id>/note/",
        review_steps.review_note,
        name="review_note",
    ),
    path(
        "review/<public_id:public_id>/items/<public_id:item_id>/series/<number:number>/",
        review_steps.review_series,
        name="review_series",
    ),
    path(
        "review/<public_id:public_id>/items/<public_id:item_id>/timelines/",
        review_steps.review_timelines,
        name="review_timelines",
    ),
]
