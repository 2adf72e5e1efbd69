"""The layers of one i2b2-2012 file, with the line of every tag.

A document type or an entity declaration is rejected before it is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from timelines.formats.values import Unreadable

ROOT = "ClinicalNarrativeTemporalAnnotation"
TAGS = ("EVENT", "TIMEX3", "SECTIME", "TLINK")


@dataclass(frozen=True)
class Tag:
    """One tag of the annotation and its line."""

    name: str
    line: int
    attributes: dict[str, str]


@dataclass
class Layers:
    """The text and the tags in order.

    `own`: line and JSON of our processing instructions.
    """

    text: str = ""
    tags: list[Tag] = field(default_factory=list)
    own: list[tuple[int, str]] = field(default_factory=list)

    def find(self, name: str) -> list[Tag]:
        return [tag for tag in self.tags if tag.name == name]


def read_layers(data: bytes) -> Layers:
    """Read the layers of XML text.

    Raises Unreadable with the line if it is not well formed, is of another kind, or declares a
    document type or entities.
    """
    found, path, pieces = Layers(), list[str](), list[str]()
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def start(name: str, attributes: dict[str, str]) -> None:
        if not path and name != ROOT:
            raise Unreadable("", f"the root is not {ROOT}", parser.CurrentLineNumber)
        path.append(name)
        if name in TAGS:
            found.tags.append(Tag(name, parser.CurrentLineNumber, attributes))

    def end(_: str) -> None:
        path.pop()

    def characters(text: str) -> None:
        if path[1:] == ["TEXT"]:
            pieces.append(text)

    def instruction(target: str, text: str) -> None:
        if target == "occurrent":
            found.own.append((parser.CurrentLineNumber, text))

    def refuse(*_: object) -> int:
        raise Unreadable(
            "",
            "declares a document type or entities, which is refused; remove the declaration",
            parser.CurrentLineNumber,
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.ProcessingInstructionHandler = characters, instruction
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = parser.ExternalEntityRefHandler = (
        refuse
    )
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise Unreadable(
            "",
            f"not well-formed XML ({expat.ErrorString(error.code)}); the file may be cut off",
            error.lineno,
        ) from None
    found.text = "".join(pieces)
    return found
