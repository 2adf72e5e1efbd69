"""Read the text of an attachment: plain, HTML or RTF."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import orjson

from ehr.formats.base import has_words
from ehr.formats.fhir.bundles import LONGEST_RESOURCE
from ehr.formats.fhir.elements import Fault, Resource, say_text
from ehr.formats.fhir.references import Names, parse_reference

PLAIN, HTML, RTF = ("text/plain", "text/markdown"), ("text/html", "application/xhtml+xml"), (
    "text/rtf", "application/rtf"
)  # fmt: skip
#: Types that are read; the first that a document has is its text.
READABLE = (*PLAIN, *HTML, *RTF)
CHARSETS = ("utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "windows-1252", "utf-16")
HTML_START = re.compile(rb"<(!doctype html|html|head|body|div|h[1-6]|p|pre|span|table)\b")
RTF_START = b"{\\rtf"
#: HTML elements that begin a line, and those whose text is not shown.
BLOCKS = {
    "address", "article", "blockquote", "br", "caption", "dd", "div", "dl", "dt", "footer", "h1",
    "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "ol", "p", "pre", "section", "table", "tr",
    "ul",
}  # fmt: skip
HIDDEN = {"head", "script", "style", "template", "title"}
CELLS = {"td", "th"}


class Places(NamedTuple):
    """Where attachments are: resources by name, and folders of files."""

    names: Names
    folders: Sequence[Path]


def read_attachments(attachments: Sequence[Resource], field: str, places: Places) -> str:
    """Return the text of the first readable attachment. Raises Fault."""
    ranked = sorted(attachments, key=_rank)
    if not ranked:
        raise Fault(field, "the document has no text")
    attachment = ranked[0]
    data, type = _read_data(attachment, field, places)
    kind, _, parameters = (type or _guess_type(data)).partition(";")
    kind = kind.strip().lower()
    if kind not in READABLE:
        raise Fault(f"{field}.contentType", "neither plain text nor HTML nor RTF")
    if kind in RTF:
        text = _strip_rtf(data, field)
    else:
        text = _decode(data, parameters, field)
        text = strip_html(text) if kind in HTML else text
    if "\x00" in text:
        raise Fault(field, "the text has a NUL character")
    if not has_words(text):
        raise Fault(field, "the text is empty")
    return text


def strip_html(page: str) -> str:
    """Return the text of an HTML page, a line for each block."""
    reader = _HtmlText()
    reader.feed(page)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.parts).split("\n"))
    text = "\n".join(lines)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text.strip("\n") + "\n"


class _HtmlText(HTMLParser):
    """Collects the shown text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden: list[str] = []
        self._exact = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in HIDDEN:
            self._hidden.append(tag)
        elif tag in BLOCKS:
            self.parts.append("\n")
        elif tag in CELLS:
            self.parts.append(" ")
        self._exact += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            self._hidden.remove(tag)
        elif tag in BLOCKS - {"br", "hr"}:
            self.parts.append("\n")
        self._exact = max(0, self._exact - (tag == "pre"))

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data if self._exact else " ".join(data.split("\n")))


def _rank(attachment: Resource) -> int:
    """Return the order in which attachments are preferred."""
    kind = say_text(attachment.get("contentType")).partition(";")[0].strip().lower()
    return READABLE.index(kind) if kind in READABLE else len(READABLE) + bool(kind)


def _read_data(attachment: Resource, field: str, places: Places) -> tuple[bytes, str]:
    """Return (bytes, content type). Raises Fault."""
    type = say_text(attachment.get("contentType"))
    if (data := attachment.get("data")) is not None:
        return _decode_base64(data, f"{field}.data"), type
    url = say_text(attachment.get("url"))
    if not url:
        raise Fault(field, "the attachment has neither data nor a url")
    if stored := places.names.load(parse_reference({"reference": url}, "Binary")):
        binary = orjson.loads(stored)
        data = _decode_base64(binary["data"], f"{field}.url")
        return data, type or say_text(binary["contentType"])
    return _read_file(url, f"{field}.url", places.folders), type


def _read_file(url: str, field: str, folders: Sequence[Path]) -> bytes:
    """Return the bytes of a file beside the resources. Raises Fault."""
    name = unquote(url.removeprefix("file://"))
    for folder in folders:
        try:
            path = (folder / name).resolve()
            # No attachment leads out of the imported folder.
            if any(path.is_relative_to(f.resolve()) for f in folders) and path.is_file():
                if path.stat().st_size > LONGEST_RESOURCE:
                    raise Fault(field, f"the file has more than {LONGEST_RESOURCE:,} bytes")
                return path.read_bytes()
        except (OSError, ValueError) as error:
            if isinstance(error, Fault):
                raise
            raise Fault(field, "the file cannot be read") from None
    raise Fault(field, "names no file or Binary of the input")


def _decode_base64(data: str, field: str) -> bytes:
    """Return the bytes of base64 with or without line breaks. Raises Fault."""
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        raise Fault(field, "not base64") from None


def _guess_type(data: bytes) -> str:
    start = data[:100].lstrip().lower()
    if start.startswith(RTF_START):
        return RTF[0]
    return HTML[0] if HTML_START.match(start) else PLAIN[0]


def _decode(data: bytes, parameters: str, field: str) -> str:
    """Return the text in the stated character set, else in UTF-8."""
    _, _, charset = parameters.lower().partition("charset=")
    charset = charset.partition(";")[0].strip().strip('"') or "utf-8"
    if charset not in CHARSETS:
        raise Fault(f"{field}.contentType", "an unknown character set")
    try:
        return data.decode(charset).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise Fault(field, "the text is not in its character set") from None


def _strip_rtf(data: bytes, field: str) -> str:
    if not data.lstrip().startswith(RTF_START):
        raise Fault(field, "not RTF")
    try:
        text: str = import_module("striprtf.striprtf").rtf_to_text(data.decode("cp1252", "replace"))
        text.encode()
    except Exception:  # the library says nothing of what it raises
        raise Fault(field, "the RTF cannot be read") from None
    return text
