"""Addresses of what needs a look: random public ids and numbers."""

from __future__ import annotations

from django.urls import URLPattern, path

from cohorts.views.attention import listing, unexplained

urlpatterns: list[URLPattern] = [
    path("cohorts/attention/", listing.attention, name="attention"),
    path("cohorts/attention/rank/", listing.attention_rank, name="attention_rank"),
    path("cohorts/attention/<number:number>/look/", listing.attention_look, name="attention_look"),
    path("cohorts/unexplained/", unexplained.unexplained, name="unexplained"),
    path(
        "cohorts/unexplained/<public_id:public_id>/<number:row_index>/dismiss/",
        unexplained.unexplained_dismiss,
        name="unexplained_dismiss",
    ),
    path(
        "cohorts/unexplained/<public_id:public_id>/<number:row_index>/comment/",
        unexplained.unexplained_comment,
        name="unexplained_comment",
    ),
]
