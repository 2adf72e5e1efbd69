"""One PROV-JSON document (W3C member submission of 24 April 2013).

Entities, activities and agents are objects by their names; so are relations, whose names are
blank. Names have the prefix `case`, attributes of ours `occurrent`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

#: Our terms: types of entities, attributes.
TERMS = "urn:occurrent:terms:"
_ENDS = {
    "wasGeneratedBy": ("prov:entity", "prov:activity"),
    "wasDerivedFrom": ("prov:generatedEntity", "prov:usedEntity"),
    "wasAssociatedWith": ("prov:activity", "prov:agent"),
}


class ProvDocument:
    """A document whose names are unique to one case of one run.

    So documents of the same case can be merged: what they share has the same name.
    """

    def __init__(self, run: str, case_id: str) -> None:
        scope = f"urn:occurrent:run:{run}:case:{quote(case_id, safe='')}:"
        self._prefixes = {"occurrent": TERMS, "case": scope}
        self._records: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
        self._related: set[tuple[str, str, str]] = set()

    def add(self, record: str, name: str, kind: str, attributes: Mapping[str, Any]) -> None:
        """Add an entity, activity or agent of one of our types."""
        self._records[record][f"case:{name}"] = {
            "prov:type": {"$": kind, "type": "prov:QUALIFIED_NAME"},
            **_encode(attributes),
        }

    def relate(self, relation: str, one: str, other: str, **attributes: Any) -> None:
        """Relate two records, the later one first; once if repeated."""
        if (relation, one, other) in self._related:
            return
        self._related.add((relation, one, other))
        first, second = _ENDS[relation]
        ends = {first: f"case:{one}", second: f"case:{other}"}
        listed = self._records[relation]
        listed[f"_:{relation}{len(listed)}"] = {**ends, **_encode(attributes)}

    def dump(self) -> str:
        """Return the document on one line."""
        return json.dumps({"prefix": self._prefixes, **self._records}, ensure_ascii=False)


def _encode(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes under our prefix.

    An attribute without a value is left out. PROV's lists are unordered, so ours are text with
    spaces between the items.
    """
    return {
        f"occurrent:{name}": " ".join(map(str, value)) if isinstance(value, tuple) else value
        for name, value in attributes.items()
        if value is not None and value != ()
    }
