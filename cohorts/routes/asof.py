"""Addresses of what was known at an hour: random public ids and numbers."""

from __future__ import annotations

from django.urls import URLPattern, path

from cohorts.views.asof import case, listing, report

urlpatterns: list[URLPattern] = [
    path("cohorts/cases/<public_id:public_id>/as-of/", case.as_of_case, name="as_of_case"),
    path("cohorts/as-of/", listing.as_of_reports, name="as_of_reports"),
    path("cohorts/as-of/new/", listing.as_of_new, name="as_of_new"),
    path("cohorts/as-of/<public_id:public_id>/", report.as_of_report, name="as_of_report"),
    path("cohorts/as-of/<public_id:public_id>/cells/", report.as_of_cell, name="as_of_cell"),
    path(
        "cohorts/as-of/<public_id:public_id>/table/<slug:format>/",
        report.as_of_table,
        name="as_of_table",
    ),
    path("cohorts/as-of/<public_id:public_id>/export/", report.as_of_export, name="as_of_export"),
    path(
        "cohorts/as-of/<public_id:public_id>/<slug:action>/",
        report.as_of_action,
        name="as_of_action",
    ),
    path("cohorts/leakage/new/", listing.leakage_new, name="leakage_new"),
    path("cohorts/leakage/<public_id:public_id>/", report.leakage_check, name="leakage_check"),
    path("cohorts/leakage/<public_id:public_id>/cells/", report.leakage_cell, name="leakage_cell"),
    path("cohorts/leakage/<public_id:public_id>/file/", report.leakage_file, name="leakage_file"),
    path(
        "cohorts/leakage/<public_id:public_id>/<slug:action>/",
        report.leakage_action,
        name="leakage_action",
    ),
]
