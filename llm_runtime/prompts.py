"""Prompts as files.

Strict fields, a version by hash, and data that cannot pass for instructions.

A prompt file is Markdown with one or more parts, each begun by a line `=== system ===` or `=== user
===`. Fields are written `{{name}}`. A field written `{{name|data}}` is wrapped in a pair of markers
that the data does not contain, so text of a note, a row or a model stays data and cannot close
them. Inserted text is never searched for fields again. `{{> parts/clock}}` on a line
of its own includes another file whole, so that each rule is written once; a prompt's hash covers
its text with everything included.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, cast

from llm_runtime.base import Message

#: The folder of the project's prompts.
PROMPTS = Path(__file__).resolve().parent.parent / "prompts"

_PART = re.compile(r"^=== (system|user) ===[ \t]*$", re.MULTILINE)
_INCLUDE = re.compile(r"^\{\{>\s*(?P<name>[a-z0-9_/]+)\s*\}\}[ \t]*$", re.MULTILINE)
_FIELD = re.compile(r"\{\{\s*(?P<name>[a-z][a-z0-9_]*)\s*(?P<data>\|\s*data\s*)?\}\}")


class PromptError(ValueError):
    """A prompt file or its fields do not fit.

    The message names prompt and field, never a value.
    """

    log_safe = True


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt with its fields filled in.

    `name` is the file's, `sha256` that of its text with all included parts.
    """

    name: str
    sha256: str
    messages: tuple[Message, ...]
    #: What was left out of the data to fit the protocol's limits, in words without patient text; ""
    #: if nothing was.
    shortened: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file that was read.

    `fields` maps each field to whether it is delimited as data.
    """

    name: str
    sha256: str
    parts: tuple[tuple[str, str], ...]
    fields: Mapping[str, bool]

    def render(self, **values: str) -> Rendered:
        """Fill in exactly the prompt's fields.

        Raises PromptError for a missing or unknown one.
        """
        missing = sorted(set(self.fields) - set(values))
        unknown = sorted(set(values) - set(self.fields))
        if missing or unknown:
            faults = [f"missing: {', '.join(missing)}"] * bool(missing) + [
                f"unknown: {', '.join(unknown)}"
            ] * bool(unknown)
            raise PromptError(f"prompt {self.name}: fields {'; '.join(faults)}")

        def substitute(match: re.Match[str]) -> str:
            value = values[match["name"]]
            return delimit(match["name"], value) if match["data"] else value

        messages = tuple(
            Message(cast(Literal["system", "user"], role), _FIELD.sub(substitute, text))
            for role, text in self.parts
        )
        return Rendered(self.name, self.sha256, messages)


def delimit(name: str, data: str) -> str:
    """Return the data between two markers with a tag.

    The data does not contain the tag. The same data gives the same markers, so that a shared prefix
    stays shared.
    """
    salt = 0
    while True:
        tag = hashlib.sha256(f"{salt}:{data}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
        if tag not in data:
            break
        salt += 1
    words = name.replace("_", " ").upper()
    return f"<<<BEGIN {words} {tag}>>>\n{data}\n<<<END {words} {tag}>>>"


def load(name: str, folder: Path = PROMPTS) -> Prompt:
    """Load the prompt `timelines/tag` from `prompts/timelines/tag.md`.

    Raises PromptError if it is missing or has no part.
    """
    return _load(name, folder)


@lru_cache(maxsize=64)
def _load(name: str, folder: Path) -> Prompt:
    text = _text(name, folder, ())
    return parse(name, text, hashlib.sha256(text.encode("utf-8")).hexdigest())


def _text(name: str, folder: Path, within: tuple[str, ...]) -> str:
    """The text of a file with every file that it takes in."""
    if name in within:
        raise PromptError(f"prompt {within[0]} takes in {name} within itself")
    try:
        text = (folder / f"{name}.md").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PromptError(
            f"there is no prompt {name}" + (f", which {within[-1]} takes in" if within else "")
        ) from None
    return _INCLUDE.sub(lambda match: _text(match["name"], folder, (*within, name)).strip(), text)


def parse(name: str, text: str, sha256: str) -> Prompt:
    """Parse a prompt file; text before the first part is a remark for people.

    Raises PromptError.
    """
    heads = list(_PART.finditer(text))
    if not heads:
        raise PromptError(f"prompt {name}: no line '=== system ===' or '=== user ==='")
    ends = [head.start() for head in heads[1:]] + [len(text)]
    parts = tuple(
        (head[1], text[head.end() : end].strip()) for head, end in zip(heads, ends, strict=True)
    )
    fields: dict[str, bool] = {}
    for _, body in parts:
        for match in _FIELD.finditer(body):
            data = match["data"] is not None
            if fields.setdefault(match["name"], data) != data:
                raise PromptError(
                    f"prompt {name}: field {match['name']} is delimited in one place and not in"
                    " another"
                )
    return Prompt(name, sha256, parts, fields)
