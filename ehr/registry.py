"""What upper apps add to an import, in `AppConfig.ready`. This app knows none of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ehr.models import Encounter
from ehr.report import CaseReport

#: Takes what belongs to it from a case's folder (a reference timeline), inside the transaction of that case, and reports
#: what it had to reject.
ImportHook = Callable[[Encounter, Path, CaseReport], None]

_import_hooks: list[ImportHook] = []


def register_import_hook(hook: ImportHook) -> None:
    """Call `hook(encounter, folder, report)` for every case that is imported from a folder."""
    if hook not in _import_hooks:
        _import_hooks.append(hook)


def import_hooks() -> tuple[ImportHook, ...]:
    """The registered hooks in order of registration."""
    return tuple(_import_hooks)
