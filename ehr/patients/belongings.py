"""Everything that the database has of some stays, by foreign keys.

A new table that refers to stays, or to what belongs to them, is found without further code.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any

from django.db.models import (
    Exists,
    ForeignKey,
    ForeignObjectRel,
    Model,
    OuterRef,
    Q,
    QuerySet,
    Value,
)
from django.db.models.functions import Concat

from accounts.models import AuditEvent
from ehr.models import Encounter, ImportedPart, RejectedRow, SeriesEmbedding, SourceRow
from llm_runtime.models import ModelCall, ModelRequestText

#: Rows of the record are read by stay; vectors are computed from what is listed.
APART: tuple[type[Model], ...] = (SourceRow, SeriesEmbedding)
BATCH = 5000

Keys = dict[type[Model], set[Any]]


def find_belongings(encounters: QuerySet[Encounter]) -> Keys:
    """Return the keys of all rows that refer to the stays, by model.

    Rows that refer to such rows are included, and calls of language models. `APART` are left out.
    """
    found: Keys = defaultdict(set)
    waiting: deque[tuple[type[Model], set[Any]]] = deque()

    def add(model: type[Model], keys: set[Any]) -> None:
        if new := keys - found[model]:
            found[model] |= new
            waiting.append((model, new))

    add(Encounter, set(encounters.values_list("pk", flat=True)))
    add(RejectedRow, set(find_rejected(encounters).values_list("pk", flat=True)))
    add(ImportedPart, set(find_parts(encounters).values_list("pk", flat=True)))
    while waiting:
        model, keys = waiting.popleft()
        for field in find_references(model):
            add(field.model, set(_find_referring(field, keys)))
    calls = {key for model, keys in list(found.items()) for key in _find_calls(model, keys)}
    found[ModelCall] = calls
    for batch in split(calls):
        texts = ModelCall.objects.order_by().filter(pk__in=batch)
        found[ModelRequestText] |= set(texts.values_list("request_id", flat=True))
    return {model: keys for model, keys in found.items() if keys}


def find_references(model: type[Model]) -> list[ForeignKey[Any, Any]]:
    """Return the foreign keys of other models that refer to this one."""
    relations = model._meta.get_fields(include_hidden=True)
    fields = [relation.field for relation in relations if isinstance(relation, ForeignObjectRel)]
    return [field for field in fields if isinstance(field, ForeignKey) and field.model not in APART]


def find_rejected(encounters: QuerySet[Encounter]) -> QuerySet[RejectedRow]:
    """Return the rejected lines of the stays; they refer to a case id."""
    same = encounters.filter(dataset=OuterRef("dataset"), case_id=OuterRef("case_id"))
    return RejectedRow.objects.filter(Exists(same), dataset__in=encounters.values("dataset"))


def find_parts(encounters: QuerySet[Encounter]) -> QuerySet[ImportedPart]:
    """Return the finished parts of imports that are named after the stays.

    The folder of a case has its case id.
    """
    named = encounters.annotate(part=Concat(Value("case:"), "case_id"))
    same = named.filter(dataset=OuterRef("dataset"), part=OuterRef("key"))
    return ImportedPart.objects.filter(Exists(same), dataset__in=encounters.values("dataset"))


def find_events(keys: Keys) -> QuerySet[AuditEvent]:
    """Return the events about the stays and what was made of them."""
    ids: list[str] = []
    for model, found in keys.items():
        if any(field.name == "public_id" for field in model._meta.fields):
            for batch in split(found):
                rows = model._default_manager.order_by().filter(pk__in=batch)
                ids += rows.values_list("public_id", flat=True)
    stays = Encounter.objects.filter(pk__in=keys.get(Encounter, ()))
    cases = list(stays.values_list("public_id", flat=True))
    return AuditEvent.objects.filter(Q(object_id__in=ids) | Q(detail__case__in=cases))


def split(keys: set[Any]) -> Iterator[list[Any]]:
    """Yield the keys in sorted batches."""
    ordered = sorted(keys)
    for start in range(0, len(ordered), BATCH):
        yield ordered[start : start + BATCH]


def _find_referring(field: ForeignKey[Any, Any], keys: set[Any]) -> Iterator[Any]:
    for batch in split(keys):
        rows = field.model._default_manager.order_by().filter(**{f"{field.name}__in": batch})
        yield from rows.values_list("pk", flat=True)


def _find_calls(model: type[Model], keys: set[Any]) -> Iterator[int]:
    """Yield the keys of the model calls whose owners are these rows."""
    owners = ModelCall.objects.order_by().filter(owner_type=model._meta.label_lower)
    if owners.exists():
        for batch in split(keys):
            mine = owners.filter(owner_id__in=list(map(str, batch)))
            yield from mine.values_list("pk", flat=True)
