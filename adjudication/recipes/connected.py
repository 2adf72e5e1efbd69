"""What this installation can run."""

from __future__ import annotations

from adjudication.recipes.planning import Connected
from timelines.runs import tools
from timelines.runs.baselines import BASELINES


def find_connected() -> Connected:
    """Return the baselines, connected models, and backbones that need none."""
    known = (*tools.BACKBONES, *BASELINES)
    return Connected(
        baselines={name: tuple(baseline.stages) for name, baseline in BASELINES.items()},
        models=sorted(tools.roles().endpoints),
        without_model=frozenset(name for name in known if not tools.asks_models(name)),
    )
