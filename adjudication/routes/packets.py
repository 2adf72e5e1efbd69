"""Addresses of packets and their report cards."""

from __future__ import annotations

from django.urls import URLPattern, path

from adjudication.views import packets
from adjudication.views.ratings import card as report_card

urlpatterns: list[URLPattern] = [
    path("packets/", packets.packet_list, name="packets"),
    path("packets/new/<public_id:run_id>/", packets.packet_new, name="packet_new"),
    path("packets/<public_id:public_id>/", packets.packet, name="packet"),
    path("packets/<public_id:public_id>/report/", report_card.report_card, name="report_card"),
    path(
        "packets/<public_id:public_id>/report/<slug:name>/<slug:format>/",
        report_card.report_table,
        name="report_table",
    ),
    path(
        "packets/<public_id:public_id>/decisions/<slug:format>/",
        report_card.packet_download,
        name="packet_download",
    ),
    path(
        "packets/<public_id:public_id>/<slug:action>/", packets.packet_action, name="packet_action"
    ),
]
