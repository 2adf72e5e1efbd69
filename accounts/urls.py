"""Addresses of home and of the account pages."""

from __future__ import annotations

from django.urls import include, path

from accounts.views import (
    api_tokens,
    audit_trail,
    help,
    home,
    notifications,
    password,
    sign_in,
    study,
)

account_patterns = [
    path("sign-in/", sign_in.SignIn.as_view(), name="sign_in"),
    path("sign-out/", sign_in.SignOut.as_view(), name="sign_out"),
    path("password/", password.ChangePassword.as_view(), name="password_change"),
    path("api-tokens/", api_tokens.api_tokens, name="api_tokens"),
    path("api-tokens/revoke/", api_tokens.api_token_revoke, name="api_token_revoke"),
    path("switch-study/", home.switch_study, name="switch_study"),
    path("audit-trail/", audit_trail.audit_trail, name="audit_trail"),
    path("notifications/", notifications.notifications, name="notifications"),
    path("notifications/read/", notifications.notifications_read, name="notifications_read"),
    path("notifications/choose/", notifications.notifications_choose, name="notifications_choose"),
    path(
        "notifications/<public_id:public_id>/",
        notifications.notification_open,
        name="notification_open",
    ),
    path("help/", help.help_page, name="help"),
    path("study/", study.study, name="study"),
    path("study/add-role/", study.add, name="member_add"),
    path("study/remove-role/", study.remove, name="member_remove"),
    path("study/create-account/", study.create, name="account_create"),
    path("study/reset-password/", study.reset, name="account_reset"),
]

urlpatterns = [
    path("", home.home, name="home"),
    path("", include((account_patterns, "accounts"))),
]
