"""Recipes that the product ships."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adjudication.recipes.reading import read_recipe, write_recipe

_FOLDER = Path(__file__).parent / "starter"


def load_starter(cohorts: Sequence[str] = (), name: str = "published") -> str:
    """Return a shipped recipe's text, over these datasets if any are given."""
    text = (_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    if not cohorts:
        return text
    return write_recipe(read_recipe(text).model_copy(update={"cohorts": tuple(cohorts)}))
