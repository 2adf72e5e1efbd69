"""Who may invite people, end sessions and change second steps.

Nothing of the provider is there without OIDC_ISSUER
(tests/integration/accounts/test_provider.py has the rest).
"""

from __future__ import annotations

from accounts.invitations.actions import invite
from accounts.models import Role
from tests.integration.site.matrix.accounts import ADMINS_ONLY
from tests.integration.site.matrix.world import (
    SIGN_IN,
    Answer,
    Row,
    World,
    answers,
    expect_signed_in,
)


def _clinician(world: World) -> dict[str, str]:
    return {"person": world.people["clinician"].public_id}


def _invitation(world: World) -> dict[str, str]:
    invitation, _ = invite(
        study=world.study, role=Role.REVIEWER, label="Grace", by=world.people["admin"]
    )
    return {"invitation": invitation.public_id}


def _link(world: World) -> dict[str, str]:
    _, secret = invite(
        study=world.study, role=Role.REVIEWER, label="Grace", by=world.people["admin"]
    )
    return {"secret": secret}


def _admin_of_the_study(answer: Answer) -> dict[str, Answer]:
    """The outsider is an admin, but of another study."""
    return dict(
        answers(
            anonymous=SIGN_IN,
            clinician=403,
            reviewer=403,
            admin=answer,
            outsider=404,
            nobody=403,
            superuser=403,
        )
    )


ROWS = [
    Row("accounts:people", ADMINS_ONLY),
    Row("accounts:person_activate", _admin_of_the_study(302), method="post", data=_clinician),
    Row("accounts:person_sign_out", _admin_of_the_study(302), method="post", data=_clinician),
    Row("accounts:person_remove_steps", _admin_of_the_study(302), method="post", data=_clinician),
    Row(
        "accounts:invitation_create",
        ADMINS_ONLY,
        method="post",
        data=lambda world: {"label": "Grace", "role": "reviewer"},
    ),
    Row("accounts:invitation_withdraw", _admin_of_the_study(302), method="post", data=_invitation),
    # Who has the link may see it; only one takes it.
    Row("accounts:invitation", expect_signed_in(200, anonymous=200), path=_link),
    Row("accounts:invitation", expect_signed_in(302, anonymous=400), path=_link, method="post"),
    Row(
        "accounts:invitation",
        expect_signed_in(404, anonymous=404),
        path=lambda world: {"secret": "another"},
    ),
    Row("accounts:sessions", expect_signed_in(200)),
    Row("accounts:sessions_end", expect_signed_in(302), method="post"),
    Row(
        "accounts:sessions_end",
        expect_signed_in(404),
        method="post",
        data=lambda world: {"session": "999"},
    ),
    Row("accounts:provider_sign_in", expect_signed_in(404, anonymous=404), method="post"),
    Row("accounts:provider_confirm", expect_signed_in(404), method="post"),
    Row("accounts:provider_connect", expect_signed_in(404)),
    Row("accounts:provider_signed_out", expect_signed_in(404, anonymous=404), method="post"),
    Row("accounts:provider_callback", expect_signed_in(404, anonymous=404)),
    Row("account_login", expect_signed_in(302, anonymous=200)),
    # Only after a right password.
    Row("mfa_authenticate", expect_signed_in(302, anonymous=302)),
    Row("mfa_login_webauthn", expect_signed_in(302, anonymous=302)),
    Row("mfa_index", expect_signed_in(200)),
    Row("account_reauthenticate", expect_signed_in(200)),
    # They ask for the password first.
    Row("mfa_activate_totp", expect_signed_in(302)),
    Row("mfa_add_webauthn", expect_signed_in(302)),
    Row("mfa_generate_recovery_codes", expect_signed_in(302)),
    Row("mfa_remove_webauthn", expect_signed_in(302), path=lambda world: {"pk": "1"}),
    Row("mfa_deactivate_totp", expect_signed_in(302)),
    Row("mfa_view_recovery_codes", expect_signed_in(302)),
]
