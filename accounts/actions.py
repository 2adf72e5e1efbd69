"""Every change to accounts, studies and memberships.

`by=None` is the command line of the machine itself.
"""

from __future__ import annotations

from django.contrib.auth.password_validation import validate_password
from django.db import transaction

from accounts.audit.trail import record
from accounts.models import Membership, Role, Study, User
from accounts.permissions import (
    NotAllowed,
    check_user_can_manage_person,
    check_user_can_manage_study,
)
from accounts.sessions.stored import end_stored_sessions
from accounts.sign_in.passwords import generated_password


class AccountExists(Exception):
    """The user name is taken."""


class LastAdmin(Exception):
    """A study without an admin could not be managed by anyone."""


@transaction.atomic
def create_study(*, name: str, by: User | None) -> Study:
    """Create a study; its creator becomes its admin.

    Raises ValidationError for a taken or empty name.
    """
    study = Study(name=name.strip())
    study.full_clean()
    study.save()
    record(
        actor=by,
        study=study,
        action="study.create",
        object_type="accounts.study",
        object_id=study.public_id,
    )
    if by is not None:
        _store_role(study, by, Role.ADMIN, by)
    return study


@transaction.atomic
def add_role(*, study: Study, user: User, role: Role, by: User | None) -> bool:
    """Give the person the role in the study; return False if they had it.

    Raises NotAllowed.
    """
    _check(by, study)
    return _store_role(study, user, role, by)


@transaction.atomic
def remove_role(*, study: Study, user: User, role: Role, by: User | None) -> bool:
    """Take the role away; return False if the person did not have it.

    Raises NotAllowed; LastAdmin for a study's last active admin.
    """
    _check(by, study)
    # two admins who remove each other at once take turns
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    others = Membership.objects.filter(study=study, role=Role.ADMIN, user__is_active=True).exclude(
        user=user
    )
    if role == Role.ADMIN and not others.exists():
        raise LastAdmin(f"{study.name} needs at least one study admin.")
    removed, _ = Membership.objects.filter(study=study, user=user, role=role).delete()
    if removed:
        _audit_member("member.remove_role", study, user, by, role)
    return removed > 0


@transaction.atomic
def create_account(
    *, username: str, study: Study, role: Role, by: User | None, one_time: bool = True
) -> tuple[User, str]:
    """Create an account; return it and its generated password.

    The password is not stored. With `one_time` it must be replaced at the first sign-in. Raises
    NotAllowed, AccountExists, ValidationError (a user name with odd characters).
    """
    _check(by, study)
    if User.objects.filter(username__iexact=username).exists():
        raise AccountExists("That user name is taken.")
    user = User(username=username, must_change_password=one_time)
    user.full_clean(exclude=["password"])
    password = generated_password()
    user.set_password(password)
    user.save()
    _audit_member("account.create", study, user, by, role)
    _store_role(study, user, role, by)
    return user, password


@transaction.atomic
def reset_password(*, user: User, by: User | None, one_time: bool = True) -> str:
    """Set a new generated password and return it once.

    Every session of the person ends. Raises NotAllowed unless `by` manages every study the person
    is in: anyone who sets a password can sign in with it.
    """
    if by is not None:
        check_user_can_manage_person(by, user)
    if not user.has_usable_password():
        raise NotAllowed("This person signs in at the provider and has no password here.")
    password = generated_password()
    user.set_password(password)
    user.must_change_password = one_time
    user.save(update_fields=["password", "must_change_password"])
    record(
        actor=by,
        study=None,
        action="account.reset_password",
        object_type="accounts.user",
        object_id=user.public_id,
    )
    return password


@transaction.atomic
def set_active(*, user: User, active: bool, by: User | None) -> bool:
    """Deactivate or activate an account; return False if nothing changed.

    Deactivating ends its sessions and stops its tokens. Raises NotAllowed for one's own account,
    and for anyone but a superuser or an admin of all the person's studies.
    """
    if by is not None and by.pk == user.pk:
        raise NotAllowed("Only another person can do this.")
    if by is not None and not (by.is_superuser and by.is_active):
        check_user_can_manage_person(by, user)
    changed = User.objects.filter(pk=user.pk, is_active=not active).update(is_active=active) > 0
    if changed:
        action = "account.activate" if active else "account.deactivate"
        record(
            actor=by,
            study=None,
            action=action,
            object_type="accounts.user",
            object_id=user.public_id,
        )
    if changed and not active:
        end_stored_sessions(user)
    return changed


@transaction.atomic
def change_own_password(*, by: User, new_password: str) -> None:
    """Replace the person's own password; the form has checked the old one.

    Raises ValidationError for a weak one.
    """
    validate_password(new_password, by)
    by.set_password(new_password)
    by.must_change_password = False
    by.save(update_fields=["password", "must_change_password"])
    record(
        actor=by,
        study=None,
        action="account.change_password",
        object_type="accounts.user",
        object_id=by.public_id,
    )


def _check(by: User | None, study: Study) -> None:
    if by is not None:
        check_user_can_manage_study(by, study)


def _store_role(study: Study, user: User, role: Role, by: User | None) -> bool:
    _, created = Membership.objects.get_or_create(study=study, user=user, role=role)
    if created:
        _audit_member("member.add_role", study, user, by, role)
    return created


def _audit_member(action: str, study: Study, user: User, by: User | None, role: Role) -> None:
    record(
        actor=by,
        study=study,
        action=action,
        object_type="accounts.user",
        object_id=user.public_id,
        detail={"role": Role(role).value},
    )
