"""Who may do what on the account pages."""

from __future__ import annotations

from accounts.api_access.tokens import issue_token
from accounts.models import Notification
from accounts.notifications.actions import notify
from tests.integration.site.matrix.world import SIGN_IN, Row, World, answers, expect_signed_in


def _clinician(world: World) -> dict[str, str]:
    return {"person": world.people["clinician"].public_id, "role": "clinician"}


def _clinicians_token(world: World) -> dict[str, str]:
    return {
        "token": issue_token(user=world.people["clinician"], label="script", by=None)[0].public_id
    }


def _clinicians_notification(world: World) -> dict[str, str]:
    clinician = world.people["clinician"]
    notify(
        recipients=[clinician],
        study=clinician.studies.get(),
        kind=Notification.Kind.MENTIONED,
        path="/cases/",
        key="matrix",
    )
    return {"public_id": Notification.objects.get(recipient=clinician, key="matrix").public_id}


ADMINS_ONLY = answers(
    anonymous=SIGN_IN,
    clinician=403,
    reviewer=403,
    admin=200,
    outsider=200,
    nobody=403,
    superuser=403,
)

ROWS = [
    Row("home", expect_signed_in(200)),
    Row("accounts:sign_in", expect_signed_in(302, anonymous=200)),
    Row("accounts:sign_out", expect_signed_in(302, anonymous=302), method="post"),
    Row("accounts:sign_out", expect_signed_in(405, anonymous=405)),
    Row("accounts:password_change", expect_signed_in(200)),
    Row("accounts:api_tokens", expect_signed_in(200)),
    Row(
        "accounts:api_tokens",
        expect_signed_in(200),
        method="post",
        data=lambda world: {"label": "script"},
    ),
    # Nobody ends somebody else's token, nor learns that there is one.
    Row(
        "accounts:api_token_revoke",
        answers(
            anonymous=SIGN_IN,
            clinician=302,
            reviewer=404,
            admin=404,
            outsider=404,
            nobody=404,
            superuser=404,
        ),
        method="post",
        data=_clinicians_token,
    ),
    Row("accounts:notifications", expect_signed_in(200)),
    Row("accounts:notifications_read", expect_signed_in(302), method="post"),
    Row("accounts:notifications_choose", expect_signed_in(302), method="post"),
    # Nobody opens somebody else's notification, nor learns that there is one.
    Row(
        "accounts:notification_open",
        answers(
            anonymous=SIGN_IN,
            clinician=302,
            reviewer=404,
            admin=404,
            outsider=404,
            nobody=404,
            superuser=404,
        ),
        method="post",
        path=_clinicians_notification,
    ),
    Row("accounts:help", expect_signed_in(200)),
    Row("accounts:audit_trail", ADMINS_ONLY),
    Row("accounts:study", ADMINS_ONLY),
    Row(
        "accounts:switch_study",
        answers(
            anonymous=SIGN_IN,
            clinician=302,
            reviewer=302,
            admin=302,
            outsider=404,
            two_studies=302,
            nobody=404,
            superuser=404,
        ),
        method="post",
        data=lambda world: {"study": world.study.public_id},
    ),
    Row(
        "accounts:member_add",
        answers(
            anonymous=SIGN_IN,
            clinician=403,
            reviewer=403,
            admin=302,
            outsider=302,
            nobody=403,
            superuser=403,
        ),
        method="post",
        data=lambda world: {"add-username": "nobody-person", "add-role": "reviewer"},
    ),
    Row(
        "accounts:member_remove",
        # The outsider is an admin, but the person is not in their study.
        answers(
            anonymous=SIGN_IN,
            clinician=403,
            reviewer=403,
            admin=302,
            outsider=404,
            nobody=403,
            superuser=403,
        ),
        method="post",
        data=_clinician,
    ),
    Row(
        "accounts:account_create",
        answers(
            anonymous=SIGN_IN,
            clinician=403,
            reviewer=403,
            admin=200,
            outsider=200,
            nobody=403,
            superuser=403,
        ),
        method="post",
        data=lambda world: {"create-username": "new-person", "create-role": "reviewer"},
    ),
    Row(
        "accounts:account_reset",
        answers(
            anonymous=SIGN_IN,
            clinician=403,
            reviewer=403,
            admin=200,
            outsider=404,
            nobody=403,
            superuser=403,
        ),
        method="post",
        data=_clinician,
    ),
]
