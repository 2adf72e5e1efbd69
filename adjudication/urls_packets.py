"""Addresses of packets and their report cards."""

from __future__ import annotations

from django.urls import URLPattern, path

from adjudication.views import packets, report_card

urlpatterns: list[URLPattern] = [
    path("packets/", packets.packet_list, name="packets"),
    path("packets/new/<str:run_id>/", packets.packet_new, name="packet_new"),
    path("packets/<str:public_id>/", packets.packet, name="packet"),
    path("packets/<str:public_id>/report/", report_card.report_card, name="report_card"),
    path("packets/<str:public_id>/report/<str:name>/<str:format>/", report_card.report_table, name="report_table"),
    path("packets/<str:public_id>/decisions/<str:format>/", report_card.packet_download, name="packet_download"),
    path("packets/<str:public_id>/<str:action>/", packets.packet_action, name="packet_action"),
]
