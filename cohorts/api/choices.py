"""Choices that several bodies share; the settings name them for OpenAPI."""

from __future__ import annotations

from accounts.api_access.operations import make_choices
from cohorts.asof.states import State
from cohorts.concepts.values import KINDS
from cohorts.models import ConceptMember
from cohorts.values import Source
from cohorts.windows.values import STATUSES

#: Where times are read.
TIMES = make_choices(Source)
#: Of those, the ones that have occurrences.
OCCURRENCE_TIMES = make_choices(source for source in Source if source is not Source.ROWS)
#: What was known at an hour.
KNOWN_STATES = make_choices(State)
RULE_KINDS = make_choices(KINDS)
MEMBER_KINDS = make_choices(ConceptMember.Kind.values)
MEMBER_STATES = make_choices(ConceptMember.State.values)
#: Whether a stay is a member, and what a person may answer.
MEMBERSHIP = make_choices(status for status in STATUSES if status)
