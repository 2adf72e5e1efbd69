"""References between resources, and the names of what they refer to.

A reference is `Type/id`, an address that ends so, `urn:uuid:…`, or an identifier.
"""

from __future__ import annotations

import re
import sqlite3
from collections import OrderedDict
from functools import lru_cache

from ehr.formats.fhir.elements import Resource, say_codes, say_concept, say_text

LITERAL = re.compile(r"(?:.*/)?([A-Z][A-Za-z]+/[A-Za-z0-9.\-]{1,64})(?:/_history/.*)?")
#: The identifier of a medication's name in MIMIC-IV on FHIR, whose codes are numbers.
MEDICATION_NAME = "mimic-medication-name"
#: Before the key of a medication: its codes.
CODES = "codes "
AT_ONCE = 10_000
NAMES_IN_MEMORY = 50_000


def parse_reference(reference: Resource | None, type: str) -> str:
    """Return the key of what a reference names; "" if it names nothing.

    `type` is the expected type, for a reference by identifier.
    """
    if reference is None:
        return ""
    if (text := reference.get("reference")) is not None:
        return _parse_text(say_text(text), type)
    identifier = reference.get("identifier")
    return f"{type}?{make_identifier(identifier)}" if identifier else ""


@lru_cache(maxsize=1 << 16)
def _parse_text(text: str, type: str) -> str:
    if "?identifier=" in text:
        return f"{type}?{text.partition('?identifier=')[2]}"
    found = LITERAL.fullmatch(text)
    return found[1] if found else text


def make_identifier(identifier: Resource) -> str:
    """Return `system|value`."""
    return f"{say_text(identifier.get('system'))}|{say_text(identifier.get('value'))}"


def find_keys(resource: Resource, address: str) -> list[str]:
    """Return the keys by which others refer to a resource.

    `address` is the `fullUrl` of its entry, or "".
    """
    type = resource["resourceType"]
    keys = [f"{type}/{say_text(resource['id'])}"] if resource.get("id") else []
    if address:
        keys.append(parse_reference({"reference": address}, type))
    named = (i for i in resource.get("identifier") or () if i.get("value"))
    return list(dict.fromkeys([*keys, *(f"{type}?{make_identifier(i)}" for i in named)]))


def say_name(resource: Resource) -> str:
    """Return the name of a Location, Medication or Specimen."""
    type = resource["resourceType"]
    if type == "Location":
        return say_text(resource.get("name") or resource.get("description"))
    if type == "Specimen":
        return say_concept(resource.get("type"))
    for identifier in resource.get("identifier") or ():
        if say_text(identifier.get("system")).endswith(MEDICATION_NAME):
            return say_text(identifier.get("value"))
    parts = (say_concept(i.get("itemCodeableConcept")) for i in resource.get("ingredient") or ())
    return say_concept(resource.get("code")) or " + ".join(filter(None, parts))


class Names:
    """Texts by key on disk: there may be millions of specimens.

    The database file has no name, so that a killed import leaves nothing.
    """

    def __init__(self) -> None:
        # The import reads blocks in a thread, one at a time.
        self._store = sqlite3.connect("", check_same_thread=False)
        self._store.execute("CREATE TABLE names (key TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID")
        self._waiting: list[tuple[str, str]] = []
        self._recent: OrderedDict[str, str] = OrderedDict()

    def add(self, key: str, text: str) -> None:
        """Store a text, before any is found.

        Two texts of one key would be a guess, so it has none then.
        """
        self._waiting.append((key, text))
        if len(self._waiting) >= AT_ONCE:
            self._flush()

    def find(self, key: str) -> str:
        """Return the text of a key, "" if there is none."""
        if key in self._recent:
            return self._recent[key]
        self._recent[key] = self.load(key)
        if len(self._recent) > NAMES_IN_MEMORY:
            self._recent.popitem(last=False)
        return self._recent[key]

    def load(self, key: str) -> str:
        """Return a text that may be long and is needed once."""
        self._flush()
        row = self._store.execute("SELECT text FROM names WHERE key = ?", [key]).fetchone()
        return row[0] if row else ""

    def name_of(self, reference: Resource | None, type: str, within: Resource) -> str:
        """Return the name of what a reference of a resource names.

        It is the display, the name of the resource there, or the last part of the reference.
        """
        if reference is None:
            return ""
        if display := say_text(reference.get("display")):
            return display
        key = parse_reference(reference, type)
        if key.startswith("#"):
            contained = within.get("contained") or ()
            return next((say_name(c) for c in contained if c.get("id") == key[1:]), "")
        return self.find(key) or key.rpartition("/")[2]

    def codes_of(self, reference: Resource, type: str, within: Resource) -> str:
        """Return the codes of what a reference of a resource names."""
        key = parse_reference(reference, type)
        if key.startswith("#"):
            contained = within.get("contained") or ()
            return next((say_codes(c.get("code")) for c in contained if c.get("id") == key[1:]), "")
        return self.find(CODES + key)

    def _flush(self) -> None:
        if self._waiting:
            self._store.executemany(
                "INSERT INTO names VALUES (?, ?) ON CONFLICT (key) DO UPDATE"
                " SET text = '' WHERE text <> excluded.text",
                self._waiting,
            )
            self._waiting.clear()
