"""Addresses of home and of the account pages."""

from __future__ import annotations

from allauth.mfa.base.views import AuthenticateView, index
from allauth.mfa.recovery_codes.views import generate_recovery_codes, view_recovery_codes
from allauth.mfa.totp.views import activate_totp, deactivate_totp
from allauth.mfa.webauthn.views import add_webauthn
from django.urls import include, path

from accounts.views import (
    api_tokens,
    audit_trail,
    help,
    home,
    invitation,
    notifications,
    password,
    people,
    provider,
    provider_sign_out,
    second_step,
    sessions,
    sign_in,
    study,
)
from accounts.views.second_step import after_password

account_patterns = [
    path("sign-in/", sign_in.SignIn.as_view(), name="sign_in"),
    path("sign-out/", sign_in.SignOut.as_view(), name="sign_out"),
    path("sign-in/provider/", provider.provider_sign_in, name="provider_sign_in"),
    path("sign-in/provider/callback/", provider.provider_callback, name="provider_callback"),
    path(
        "sign-in/provider/signed-out/",
        provider_sign_out.provider_signed_out,
        name="provider_signed_out",
    ),
    path("sign-in/provider/connect/", provider.provider_connect, name="provider_connect"),
    path("sign-in/provider/confirm/", provider.provider_confirm, name="provider_confirm"),
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
    path("sessions/", sessions.sessions, name="sessions"),
    path("sessions/end/", sessions.sessions_end, name="sessions_end"),
    path("invitation/<slug:secret>/", invitation.invitation, name="invitation"),
    path("study/people/", people.people, name="people"),
    path("study/people/activate/", people.person_activate, name="person_activate"),
    path("study/people/sign-out/", people.person_sign_out, name="person_sign_out"),
    path(
        "study/people/remove-second-step/",
        people.person_remove_steps,
        name="person_remove_steps",
    ),
    path("study/people/invite/", people.invitation_create, name="invitation_create"),
    path("study/people/withdraw/", people.invitation_withdraw, name="invitation_withdraw"),
    path("study/add-role/", study.add, name="member_add"),
    path("study/remove-role/", study.remove, name="member_remove"),
    path("study/create-account/", study.create, name="account_create"),
    path("study/reset-password/", study.reset, name="account_reset"),
]

# django-allauth finds its pages by these names. No other page of the library has an address.
library_patterns = [
    path("sign-in/", sign_in.SignIn.as_view(), name="account_login"),
    path("sign-in/second-step/", AuthenticateView.as_view(), name="mfa_authenticate"),
    path("sign-in/passkey/", second_step.PasskeySignIn.as_view(), name="mfa_login_webauthn"),
    path("second-step/", index, name="mfa_index"),
    path("second-step/password/", second_step.confirm_password, name="account_reauthenticate"),
    path("second-step/app/", after_password(activate_totp), name="mfa_activate_totp"),
    path("second-step/app/remove/", after_password(deactivate_totp), name="mfa_deactivate_totp"),
    path("second-step/codes/", after_password(view_recovery_codes), name="mfa_view_recovery_codes"),
    path(
        "second-step/codes/new/",
        after_password(generate_recovery_codes),
        name="mfa_generate_recovery_codes",
    ),
    path("second-step/passkey/", after_password(add_webauthn), name="mfa_add_webauthn"),
    path(
        "second-step/passkey/<number:pk>/remove/",
        after_password(second_step.RemovePasskey.as_view()),
        name="mfa_remove_webauthn",
    ),
]

urlpatterns = [
    path("", home.home, name="home"),
    path("", include((account_patterns, "accounts"))),
    *library_patterns,
]
