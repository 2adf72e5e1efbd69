"""Addresses of concepts: random public ids and numbers, never text of a note or a record."""

from __future__ import annotations

from django.urls import URLPattern, path

from cohorts.views.concepts import changing, files, filtering, finding, listing, page, samples

_ONE = "cohorts/concepts/<public_id:public_id>/"
_SAMPLE = "cohorts/samples/<public_id:public_id>/"

urlpatterns: list[URLPattern] = [
    path("cohorts/concepts/", listing.concepts, name="concepts"),
    path("cohorts/concepts/create/", listing.concept_create, name="concept_create"),
    path("cohorts/concepts/import/", files.concept_import, name="concept_import"),
    path("cohorts/concepts/vectors/", finding.concept_vectors, name="concept_vectors"),
    path(_ONE, page.concept, name="concept"),
    path(f"{_ONE}describe/", changing.concept_describe, name="concept_describe"),
    path(f"{_ONE}archive/", changing.concept_archive, name="concept_archive"),
    path(f"{_ONE}filter/", filtering.concept_filter, name="concept_filter"),
    path(f"{_ONE}decide/", changing.concept_decide, name="concept_decide"),
    path(f"{_ONE}version/", changing.concept_version, name="concept_version"),
    path(f"{_ONE}rules/add/", finding.concept_rule_add, name="concept_rule_add"),
    path(f"{_ONE}rules/end/", finding.concept_rule_end, name="concept_rule_end"),
    path(f"{_ONE}meaning/", finding.concept_meaning, name="concept_meaning"),
    path(f"{_ONE}export/", files.concept_export, name="concept_export"),
    path(f"{_ONE}sample/", samples.concept_sample_draw, name="concept_sample_draw"),
    path(_SAMPLE, samples.concept_sample, name="concept_sample"),
    path(f"{_SAMPLE}answer/", samples.concept_sample_answer, name="concept_sample_answer"),
    path(f"{_SAMPLE}close/", samples.concept_sample_close, name="concept_sample_close"),
]
