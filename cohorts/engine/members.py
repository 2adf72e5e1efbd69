"""Say of every stay whether it is a member: yes, no or uncertain."""

from __future__ import annotations

import numpy as np
import polars as pl

from cohorts.engine.columns import NO, UNCERTAIN, YES
from cohorts.engine.evaluating import judge_window
from cohorts.engine.language import Window, find_concepts
from cohorts.engine.settling import settle
from cohorts.engine.values import select_facts

#: At most so many facts are named for a stay.
MAX_DECIDING = 20
_WORDS = {NO: "no", UNCERTAIN: "uncertain", YES: "yes"}
EVALUATED = {
    "stay": pl.Int64,
    "status": pl.String,
    "deciding": pl.List(pl.Int64),
    "exact": pl.Boolean,
}


def evaluate(window: Window, facts: pl.DataFrame, stays: pl.DataFrame) -> pl.DataFrame:
    """Return stay, status, deciding (fact ids) and exact, as in `stays`.

    "yes": a member by every time that the bounds allow, "no": by none, else "uncertain". The
    deciding facts are those that make a yes, that are open, or that come nearest, at most 20.
    `exact` is false if the question was given up: the stay is uncertain, but might be a yes or a
    no. Raises WindowError if the window compares too many occurrences.
    """
    chosen = select_facts(facts, find_concepts(window))
    judged = judge_window(window, chosen, stays)
    status, exact = judged.status.copy(), np.ones(stays.height, bool)
    uncertain = np.flatnonzero(status == UNCERTAIN)
    if len(uncertain):
        settled = settle(window, chosen, stays[uncertain.tolist()])
        status[uncertain] = [UNCERTAIN if found is None else found for found in settled]
        exact[uncertain] = [found is not None for found in settled]
    found = stays.select("stay").with_columns(
        status=pl.Series(status).replace_strict(_WORDS, return_dtype=pl.String),
        exact=pl.Series(exact),
    )
    return _add_deciding(found, judged.deciding).select(list(EVALUATED))


def _add_deciding(found: pl.DataFrame, deciding: pl.DataFrame) -> pl.DataFrame:
    first = pl.col("fact").head(MAX_DECIDING)
    listed = deciding.unique(maintain_order=True).group_by("row").agg(deciding=first)
    rows = found.with_row_index("row")
    joined = rows.join(listed, on="row", how="left", maintain_order="left")
    return joined.with_columns(pl.col("deciding").fill_null([]))
