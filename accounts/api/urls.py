"""Addresses of the API of accounts."""

from __future__ import annotations

from django.urls import URLPattern, path

from accounts.api import views

app_name = "accounts_api"
urlpatterns: list[URLPattern] = [
    path("studies/", views.Studies.as_view(), name="studies"),
    path("studies/<public_id:study_id>/", views.StudyOne.as_view(), name="study"),
    path("audit-trail/", views.AuditTrail.as_view(), name="audit_trail"),
]
