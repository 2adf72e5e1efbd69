"""The names of runs' sources.

A name has the backbone with its models, then what the run omits or sets otherwise, separated by
slashes.

No Django. "rules", "rules/no_uid", "rules/rho=0.1", "prompted:GLM-4.6/no_rows/rho=0.1". Imported
sources may contain slashes too.
"""

from __future__ import annotations

from timelines.pipeline.config import Variant

VARIANTS = frozenset(v.value for v in Variant)
_RHO = "rho="


def name_way(source: str, decided_by: str, link: str) -> str:
    """Return how a time was decided: the link to its rows, else the rule.

    Empty if a model decided without a row, or if nothing is recorded.
    """
    if link:
        return link
    # A source that names models ("prompted:GLM-4.6") has no rules: its entries name a model.
    return "" if ":" in source else decided_by


def split_source(source: str) -> tuple[str, str]:
    """Split a source into (backbone, variant).

    "rules/no_uid" → ("rules", "no_uid"); "" for the full one and for other sources' names.
    """
    base, _, rest = source.partition("/")
    return (base, rest) if rest.split("/")[0] in VARIANTS or rest.startswith(_RHO) else (source, "")
