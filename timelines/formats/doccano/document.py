"""The schema of doccano's JSONL: a document and its marks."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from timelines.domain import Lane
from timelines.formats.fields import (
    EventLine,
    EventValues,
    HeadingLine,
    Label,
    Mention,
    NoteText,
    Offset,
    shorten_mention,
)
from timelines.formats.values import Event, Unreadable

#: Where doccano writes spans: `entities` if the project has relations.
SPANS = ("entities", "label", "labels")


class Entity(EventValues):
    """A mark: its span, its label, and any keys of ours."""

    start_offset: Offset
    end_offset: Offset
    label: Label = None
    #: The span's text by default.
    mention: Mention = ""

    @model_validator(mode="before")
    @classmethod
    def _name_parts(cls, mark: Any) -> Any:
        if isinstance(mark, list) and len(mark) >= 3:
            return dict(zip(("start_offset", "end_offset", "label"), mark, strict=False))
        if not isinstance(mark, dict):
            raise ValueError("neither an entity nor [start, end, label]")
        return mark

    @property
    def span(self) -> tuple[int, int]:
        return self.start_offset, self.end_offset

    def read(self, text: str) -> Event:
        """Return the event that it marks in the text. Raises Unreadable."""
        start, end = self.span
        if not start < end <= len(text):
            raise Unreadable("end_offset", "the span is empty, reversed or ends outside the text")
        return replace(
            self.make_event(),
            mention=self.mention or shorten_mention(text[start:end]),
            lane=self.lane or self.label or Lane.FINDING,
            lane_given=(self.lane or self.label) is not None,
        )


class OwnLine(EventLine):
    """An occurrence that we wrote; `marked` if an entity shows it."""

    marked: bool = True


def _check_list(spans: Any) -> Any:
    if spans and not isinstance(spans, list):
        raise ValueError("not a list of spans")
    return spans or []


def _find_spans(listed: Any) -> set[tuple[Any, Any]] | None:
    """Return the raw spans of a list that has nothing else, else None."""
    if not isinstance(listed, list):
        return None
    found = set()
    for mark in listed:
        if isinstance(mark, list) and len(mark) >= 3:
            ends = (mark[0], mark[1])
        elif isinstance(mark, dict):
            ends = (mark.get("start_offset"), mark.get("end_offset"))
        else:
            return None
        if not all(isinstance(end, int) for end in ends):
            return None
        found.add(ends)
    return found


Spans = Annotated[list[Entity], BeforeValidator(_check_list)]


class Document(HeadingLine):
    """A line of the file. Its heading may be in `meta`."""

    text: NoteText = Field(validation_alias=AliasChoices("text", "data"))
    entities: Spans = []
    label: Spans = []
    labels: Spans = []
    occurrences: list[OwnLine] | None = None

    @model_validator(mode="before")
    @classmethod
    def _choose(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Keep one field of spans, and add the heading from `meta`.

        doccano exports a field that it did not read as it was imported, so two that differ are
        rejected.
        """
        marked = {name: s for name in SPANS if (s := _find_spans(values.get(name))) is not None}
        if len(set(map(frozenset, marked.values()))) > 1:
            raise ValueError(
                f"{' and '.join(marked)} mark different spans; remove the one that is out of date"
            )
        used = next((name for name in SPANS if values.get(name)), SPANS[0])
        meta = values.get("meta")
        named = meta if isinstance(meta, dict) else {}
        return {k: named[k] for k in HeadingLine.model_fields if k in named} | {
            k: v for k, v in values.items() if k == used or k not in SPANS
        }

    @property
    def marks(self) -> list[tuple[str, Entity]]:
        """Return every mark with its place in the document."""
        return [
            (f"{name}[{n}]", mark) for name in SPANS for n, mark in enumerate(getattr(self, name))
        ]
