"""The people of the role matrix: one of each kind, in two studies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from accounts.actions import add_role, create_study
from accounts.models import Role, Study, User

#: Who asks. `outsider` is the admin of another study; `nobody` is signed in without any study.
#: `two_studies` is an admin and clinician of the other study, which is their active one, and a
#: blinded reviewer without a packet in the world's study.
PEOPLE = (
    "anonymous",
    "clinician",
    "reviewer",
    "admin",
    "outsider",
    "two_studies",
    "nobody",
    "superuser",
)
SIGN_IN = "sign-in"
#: Hours of timelines, which nothing else on a page resembles: the check of the trail looks for
#: them.
TIMES = (-37.219, 53.647, -71.583, 91.461)
#: What an answer may be: a status, or SIGN_IN for a redirect to the sign-in page.
Answer = int | str


@dataclass(frozen=True)
class World:
    """Two studies and everyone in them."""

    study: Study
    other_study: Study
    people: Mapping[str, User]


@dataclass(frozen=True)
class Row:
    """One address with one method, and what everyone gets there.

    `name` is the pattern's namespaced name. `path` gives its arguments from the world, `data` a
    request body; both may make what they need. `answers` names every one of PEOPLE.
    """

    name: str
    answers: Mapping[str, Answer]
    method: str = "get"
    path: Callable[[World], Mapping[str, str]] = field(default=lambda world: {})
    data: Callable[[World], Mapping[str, str]] = field(default=lambda world: {})


def answers(
    *,
    anonymous: Answer,
    clinician: Answer,
    reviewer: Answer,
    admin: Answer,
    outsider: Answer,
    nobody: Answer,
    superuser: Answer,
    two_studies: Answer | None = None,
) -> Mapping[str, Answer]:
    """Return the answers by name, so that none is forgotten.

    By default, `two_studies` gets the answer of `outsider`.
    """
    return {
        "anonymous": anonymous,
        "clinician": clinician,
        "reviewer": reviewer,
        "admin": admin,
        "outsider": outsider,
        "two_studies": outsider if two_studies is None else two_studies,
        "nobody": nobody,
        "superuser": superuser,
    }


def expect_signed_in(answer: Answer, *, anonymous: Answer = SIGN_IN) -> Mapping[str, Answer]:
    """The same for all who are signed in, with any role."""
    return {person: anonymous if person == "anonymous" else answer for person in PEOPLE}


def make_world() -> World:
    """Make them all.

    Nobody's password can be used; tests sign people in by force.
    """
    study, other = create_study(name="Cohort", by=None), create_study(name="Other cohort", by=None)
    people = {
        name: User.objects.create(username=f"{name}-person")
        for name in PEOPLE
        if name != "anonymous"
    }
    for role in Role:
        add_role(study=study, user=people[role.value], role=role, by=None)
    add_role(study=other, user=people["outsider"], role=Role.ADMIN, by=None)
    for study_of_role, role in (
        (study, Role.REVIEWER),
        (other, Role.CLINICIAN),
        (other, Role.ADMIN),
    ):
        add_role(study=study_of_role, user=people["two_studies"], role=role, by=None)
    User.objects.filter(pk=people["superuser"].pk).update(is_superuser=True, is_staff=True)
    people["superuser"].refresh_from_db()
    return World(study, other, people)
