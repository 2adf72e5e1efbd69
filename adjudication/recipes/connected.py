"""What this installation can run."""

from __future__ import annotations

from adjudication.recipes.planning import Connected
from timelines.runs.baselines import BASELINES
from timelines.runs.tools import BACKBONES, asks_models, roles


def find_connected() -> Connected:
    """Return baselines, connected models, and backbones that need none."""
    return Connected(
        baselines={name: tuple(baseline.stages) for name, baseline in BASELINES.items()},
        models=sorted(roles().endpoints),
        without_model=frozenset(name for name in (*BACKBONES, *BASELINES) if not asks_models(name)),
    )
