"""What concepts are made of, and how members are written and digested.

No Django here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from timelines.backbones.rules.querying.vocabulary import list_drug_classes
from timelines.domain import Lane, Polarity
from timelines.search.terms import parse_terms

KINDS = ("words", "drug_class", "series")
LONGEST_NAME = 100
LONGEST_VALUE = 200


class ConceptRefused(ValueError):
    """A change of a concept that cannot be stored; the message says what to do."""

    log_safe = True


@dataclass(frozen=True, slots=True)
class Rule:
    """What proposes members. Raises ConceptRefused if it could propose nothing."""

    kind: str
    value: str
    polarities: tuple[str, ...] = (Polarity.PRESENT.value,)
    lanes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConceptRefused(f"kind: expected one of {', '.join(KINDS)}.")
        if not self.value.strip() or len(self.value) > LONGEST_VALUE:
            raise ConceptRefused(f"value: enter 1 to {LONGEST_VALUE} characters.")
        if self.kind == "words" and not parse_terms(self.value):
            raise ConceptRefused("value: enter at least one word with a letter or a digit.")
        if self.kind == "drug_class" and self.value not in list_drug_classes():
            raise ConceptRefused("value: there is no drug class of this name.")
        if self.kind == "series" and not self.value.replace("*", "").strip():
            raise ConceptRefused("value: a pattern of series names needs more than “*”.")
        _check_all("polarities", self.polarities, {p.value for p in Polarity})
        _check_all("lanes", self.lanes, {lane.value for lane in Lane})


def _check_all(name: str, given: Iterable[str], known: set[str]) -> None:
    if not set(given) <= known:
        raise ConceptRefused(f"{name}: expected some of {', '.join(sorted(known))}.")


def sort_members(members: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return members in the order of a version, without other fields."""
    names = ("kind", "key", "polarity", "words")
    plain = [{name: member[name] for name in names} for member in members]
    return sorted(plain, key=lambda m: (m["kind"], m["key"], m["polarity"]))


def digest_members(members: Iterable[Mapping[str, Any]]) -> str:
    """Return the SHA-256 of members, in any order."""
    written = json.dumps(sort_members(members), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(written.encode()).hexdigest()
