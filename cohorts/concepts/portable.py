"""Concepts as JSON: export, and import with a check that names the field."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from django.db import connection, transaction

from accounts.models import Study, User
from cohorts.concepts.actions import add_rule, create_concept, decide, propose
from cohorts.concepts.matching import Candidate
from cohorts.concepts.values import ConceptRefused, Rule
from cohorts.models import Concept, ConceptMember
from timelines.domain import Polarity

FORMAT = 1
_FIELDS = ("name", "description", "rules", "members")
MOST_BYTES = 1024 * 1024


def write_concept(concept: Concept) -> dict[str, Any]:
    """Return a concept as JSON can say it; rules that ended are left out."""
    newest = concept.versions.first()
    return {
        "occurrent_concept": FORMAT,
        "name": concept.name,
        "description": concept.description,
        "rules": [
            {"kind": r.kind, "value": r.value, "polarities": r.polarities, "lanes": r.lanes}
            for r in concept.rules.filter(ended_at__isnull=True)
        ],
        "members": [
            {"kind": m.kind, "words": m.words, "polarity": m.polarity, "state": m.state}
            for m in concept.members.all()
        ],
        "version": {"number": newest.number, "sha256": newest.sha256} if newest else None,
    }


def read_json(content: bytes) -> Mapping[str, Any]:
    """Read and check a file.

    Raises ConceptRefused, which names the line or the field.
    """
    if len(content) > MOST_BYTES:
        raise ConceptRefused("The file is larger than 1 MiB. A concept is a small JSON file.")
    try:
        read = json.loads(content)
    except UnicodeDecodeError:
        raise ConceptRefused("The file is not UTF-8 text. Export it again as JSON.") from None
    except json.JSONDecodeError as error:
        raise ConceptRefused(f"line {error.lineno}: this is not JSON.") from None
    except RecursionError:
        raise ConceptRefused("The file is nested too deeply for a concept.") from None
    if not isinstance(read, dict) or read.get("occurrent_concept") != FORMAT:
        raise ConceptRefused(f"occurrent_concept: expected {FORMAT}. Is this file a concept?")
    for name in _FIELDS[:2]:
        if not isinstance(read.get(name, ""), str) or "\0" in read.get(name, ""):
            raise ConceptRefused(f"{name}: expected text.")
    for name, check in (("rules", _read_rule), ("members", _check_member)):
        if not isinstance(read.get(name, []), list):
            raise ConceptRefused(f"{name}: expected a list.")
        for place, each in enumerate(read.get(name, [])):
            try:
                check(each)
            except ConceptRefused as refused:
                raise ConceptRefused(f"{name}[{place}].{refused}") from None
    return read


def _read_rule(given: Any) -> Rule:
    if not isinstance(given, dict):
        raise ConceptRefused("kind: expected an object with kind and value.")
    for name in ("kind", "value"):
        if not isinstance(given.get(name), str) or "\0" in given[name]:
            raise ConceptRefused(f"{name}: expected text.")
    several = {"polarities": [Polarity.PRESENT.value], "lanes": []}
    for name, default in several.items():
        several[name] = given.get(name, default)
        if not isinstance(several[name], list) or not all(
            isinstance(one, str) for one in several[name]
        ):
            raise ConceptRefused(f"{name}: expected a list of texts.")
    return Rule(
        given["kind"], given["value"], tuple(several["polarities"]), tuple(several["lanes"])
    )


def _check_member(given: Any) -> None:
    if not isinstance(given, dict) or given.get("kind") not in ConceptMember.Kind.values:
        raise ConceptRefused("kind: expected mention or series.")
    words = given.get("words")
    if not isinstance(words, str) or not words.strip() or "\0" in words:
        raise ConceptRefused("words: expected text.")
    known = {p.value for p in Polarity} if given["kind"] == "mention" else {""}
    if given.get("polarity", "") not in known:
        expected = f"one of {', '.join(sorted(known))}" if len(known) > 1 else "none for a series"
        raise ConceptRefused(f"polarity: expected {expected}.")
    if given.get("state", "proposed") not in ConceptMember.State.values:
        raise ConceptRefused(f"state: expected one of {', '.join(ConceptMember.State.values)}.")


@transaction.atomic
def import_concept(
    *,
    study: Study,
    content: bytes,
    accept: bool = False,
    closed: Collection[int] = (),
    by: User | None,
) -> tuple[Concept, int]:
    """Create a concept from JSON, or add what it lacks.

    Returns it and how many members are new.
    New members wait for review. With `accept`, those that the file accepts or rejects are decided
    by this person; members that the concept has are never changed. Raises NotAllowed,
    ConceptRefused.
    """
    read = read_json(content)
    name = read.get("name", "").strip()
    concept = Concept.objects.filter(study=study, name=name).first()
    if concept is None:
        description = read.get("description", "")
        concept = create_concept(study=study, name=name, description=description, by=by)
    known = set(concept.members.values_list("pk", flat=True))
    given = read.get("members", [])
    keys = _find_keys([one["words"] for one in given])
    found = [
        Candidate(
            one["kind"],
            keys[one["words"]] if one["kind"] == "mention" else one["words"],
            one.get("polarity", ""),
            one["words"].lower() if one["kind"] == "mention" else one["words"],
            "imported",
        )
        for one in given
    ]
    count = propose(concept=concept, found=found, by=by)
    new = {(m.kind, m.key, m.polarity): m for m in concept.members.exclude(pk__in=known)}
    if accept and by is not None:
        for state in (ConceptMember.State.ACCEPTED, ConceptMember.State.REJECTED):
            members = {
                new[place].public_id
                for one, plain in zip(given, found, strict=True)
                if one.get("state") == state
                and (place := (plain.kind, plain.key, plain.polarity)) in new
            }
            accepted = state == ConceptMember.State.ACCEPTED
            decide(concept=concept, members=members, accepted=accepted, reason="Imported.", by=by)
    for rule in read.get("rules", []):
        count += add_rule(concept=concept, rule=_read_rule(rule), closed=closed, by=by)[1]
    return concept, count


def _find_keys(words: Collection[str]) -> dict[str, str]:
    """Return the key of each mention, as PostgreSQL makes it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT w, md5(lower(w)) FROM unnest(%s::text[]) w", [list(words)])
        return dict(cursor.fetchall())
