"""The schema of Label Studio's JSON: tasks, annotations, items."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from llm_runtime.schema import FaultMessage, Strict
from timelines.formats.fields import EventLine, HeadingLine, NoteText, Whole
from timelines.formats.values import Unreadable

#: Where annotations are. The first field with one that is not cancelled counts.
SOURCES = ("annotations", "completions", "predictions")
#: The types of items that mark a region of the text.
REGIONS = ("labels", "hypertextlabels")
_NONE_IS_EMPTY = BeforeValidator(lambda value: [] if value is None else value)
_List = Annotated[list[Any], _NONE_IS_EMPTY]


class Data(HeadingLine):
    """The text, its timeline, and our occurrences without a place."""

    text: NoteText
    occurrent: Annotated[list[dict[str, Any]], _NONE_IS_EMPTY] = []


class Value(Strict, extra="ignore"):
    """Offsets and labels of a region, or the answer of a control."""

    start: Whole = None
    end: Whole = None
    text: Any = None
    labels: _List = []
    number: Any = None
    choices: _List = []

    @property
    def typed(self) -> Any:
        """Return the number or the first text of a control."""
        first = self.text[0] if isinstance(self.text, list) and self.text else None
        return self.number if "number" in self.model_fields_set else first


class Meta(Strict, extra="ignore"):
    """Our occurrence, as we wrote it for a region."""

    occurrent: dict[str, Any] | None = None


class Item(Strict, extra="ignore"):
    """A region of the text, or a control of the region of the same `id`."""

    id: Annotated[str | int | None, FaultMessage("neither text nor a whole number")] = None
    type: Any = None
    from_name: Any = None
    #: Relations between regions have none.
    value: Annotated[
        Value, BeforeValidator(lambda value: value if isinstance(value, dict) else {})
    ] = Value()
    meta: Meta | None = None

    @model_validator(mode="after")
    def _check_offsets(self) -> Item:
        if self.is_region and (self.value.start is None or self.value.end is None):
            raise ValueError("a region without offsets of characters")
        return self

    @property
    def is_region(self) -> bool:
        return self.type in REGIONS

    @property
    def span(self) -> tuple[int, int]:
        """Return the offsets of a region, as the file counts."""
        assert self.value.start is not None
        assert self.value.end is not None
        return self.value.start, self.value.end


def _counts(annotation: Any) -> bool:
    # Exports may have only identifiers of predictions.
    return isinstance(annotation, dict) and not annotation.get("was_cancelled")


class Annotation(Strict, extra="ignore"):
    """The marks of one person or model."""

    result: Annotated[list[Item], _NONE_IS_EMPTY] = []


Annotations = Annotated[
    list[Annotated[Annotation | None, BeforeValidator(lambda one: one if _counts(one) else None)]],
    _NONE_IS_EMPTY,
]


class Task(Strict, extra="ignore"):
    """One element of the list; it has the annotations of only one field."""

    data: Data
    annotations: Annotations = []
    completions: Annotations = []
    predictions: Annotations = []

    @model_validator(mode="before")
    @classmethod
    def _choose(cls, task: dict[str, Any]) -> dict[str, Any]:
        """Leave out what is not read, so that its faults do not matter."""

        def is_used(listed: Any) -> bool:
            return any(map(_counts, listed)) if isinstance(listed, list) else listed is not None

        used = next((name for name in SOURCES if is_used(task.get(name))), None)
        return {name: value for name, value in task.items() if name in (used, "data")}

    def choose_result(self) -> tuple[str, list[Item]]:
        """Return the only result, and its place in the task.

        Raises Unreadable.
        """
        found = [
            (name, f"{name}[{n}].result", one.result)
            for name in SOURCES
            for n, one in enumerate(getattr(self, name))
            if one
        ]
        if not found:
            raise Unreadable(SOURCES[0], "the task is not annotated")
        if len(found) > 1:
            raise Unreadable(
                found[0][0],
                f"{len(found)} of them; a source has one timeline a case, export one annotator's"
                " at a time",
            )
        return found[0][1:]


class OwnLine(EventLine):
    """Our keys of an occurrence, in a region or without a place."""

    #: The position in the timeline.
    ordinal: Whole = None
