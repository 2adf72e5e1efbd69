"""Erase a person: name and addresses go, the pseudonymous id stays.

The audit trail and the decisions of reviews refer to the id. Without them, results of a study could
not be verified any more, so that the law lets them stay.
"""

from __future__ import annotations

from django.apps import apps
from django.db import transaction
from django.db.models import ForeignKey, Model

from accounts.actions import remove_role
from accounts.audit.trail import record
from accounts.models import (
    ApiToken,
    Invitation,
    Membership,
    Notification,
    NotificationChoice,
    Role,
    StoredAnswer,
    User,
)
from accounts.permissions import NotAllowed

#: Applications of the sign-in library, with addresses and keys of a person, where installed.
SIGN_IN_APPS = ("account", "mfa", "socialaccount", "usersessions")


@transaction.atomic
def erase_account(*, user: User, by: User | None) -> dict[str, int]:
    """Deactivate the account and remove everything that names the person.

    Their roles, tokens, notifications and sign-in data go; their sessions end. Returns the number
    of deleted rows by table. It cannot be undone. Raises NotAllowed for anyone but another
    superuser, LastAdmin for the last active admin of a study.
    """
    if by is not None and (not by.is_superuser or not by.is_active or by.pk == user.pk):
        raise NotAllowed("Only another superuser can do this.")
    gone = {Membership._meta.db_table: _remove_roles(user, by)}
    for model, field in _find_personal():
        deleted = model._default_manager.filter(**{field: user}).delete()[0]
        gone[model._meta.db_table] = gone.get(model._meta.db_table, 0) + deleted
    _rename(user)
    record(
        actor=by,
        study=None,
        action="account.erase",
        object_type="accounts.user",
        object_id=user.public_id,
        detail={"rows": sum(gone.values())},
    )
    return gone


def _remove_roles(user: User, by: User | None) -> int:
    memberships = list(Membership.objects.filter(user=user).select_related("study"))
    for membership in memberships:
        remove_role(study=membership.study, user=user, role=Role(membership.role), by=None)
    return len(memberships)


def _find_personal() -> list[tuple[type[Model], str]]:
    """Return the models with personal data, and their field with the person."""
    found: list[tuple[type[Model], str]] = [
        (ApiToken, "user"),
        (Notification, "recipient"),
        (NotificationChoice, "user"),
        (StoredAnswer, "user"),
        # its label may be the person's name
        (Invitation, "used_by"),
    ]
    for label in SIGN_IN_APPS:
        if apps.is_installed(f"allauth.{label}"):
            for model in apps.get_app_config(label).get_models():
                fields = (f for f in model._meta.fields if isinstance(f, ForeignKey))
                found += [(model, field.name) for field in fields if field.related_model is User]
    return found


def _rename(user: User) -> None:
    """Replace what names the person; no password fits any more."""
    user.username = f"erased-{user.public_id}"
    user.first_name = user.last_name = user.email = ""
    user.is_active = user.is_staff = user.is_superuser = False
    user.must_change_password = False
    user.set_unusable_password()
    user.save()
