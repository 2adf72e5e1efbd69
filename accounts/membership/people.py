"""Who can see what: the people of a study, and how they sign in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.conf import settings

from accounts.membership.members import MemberLine, member_lines
from accounts.models import ApiToken, Role, Study, User
from accounts.permissions import user_can_manage_person

#: What each role opens, as the page says it. The role matrix tests every address.
OPENS: Mapping[Role, str] = {
    Role.CLINICIAN: (
        "Every case of the study: notes, records, timelines, judging results. Writes reference"
        " timelines and corrections."
    ),
    Role.REVIEWER: "Only the review queue: blinded items of the packets assigned to them.",
    Role.ADMIN: (
        "Everything a clinician opens, and imports, runs, exports, packets, members, webhooks and"
        " the audit trail."
    ),
}
EXCEPTION = (
    "A person who is assigned to an open packet cannot open its cases in any role until it is"
    " closed."
)


@dataclass(frozen=True)
class PersonLine:
    """One person of the study.

    `manageable`: the reader may end their sessions and deactivate them.
    """

    member: MemberLine
    signs_in_with: str
    second_steps: tuple[str, ...]
    tokens: int
    manageable: bool


def person_lines(study: Study, reader: User) -> list[PersonLine]:
    """Return everyone in the study, by user name."""
    lines = member_lines(study)
    ids = [line.person.pk for line in lines]
    steps: dict[int, set[str]] = defaultdict(set)
    for user_id, kind in Authenticator.objects.filter(user__in=ids).values_list("user", "type"):
        steps[user_id].add(_STEPS.get(kind, ""))
    linked = set(SocialAccount.objects.filter(user__in=ids).values_list("user", flat=True))
    tokens = list(ApiToken.objects.filter(user__in=ids).values_list("user", flat=True))
    return [
        PersonLine(
            member=line,
            signs_in_with=_name_way(line.person, linked),
            second_steps=tuple(sorted(filter(None, steps[line.person.pk]))),
            tokens=tokens.count(line.person.pk),
            manageable=line.person != reader and user_can_manage_person(reader, line.person),
        )
        for line in lines
    ]


#: Recovery codes are no step of their own.
_STEPS = {Authenticator.Type.TOTP: "authenticator app", Authenticator.Type.WEBAUTHN: "passkey"}


def _name_way(person: User, linked: set[int]) -> str:
    if person.pk in linked:
        return settings.OIDC.name if settings.OIDC else "a provider that is not set up any more"
    if not person.has_usable_password():
        return "nothing"
    return "one-time password" if person.must_change_password else "password"
