"""Find out if files may say something else of a stay than before.

The files' fingerprints answer that in most cases, and nothing is read.
"""

from __future__ import annotations

from collections.abc import Mapping

from ehr.formats.base import Rejection, WrongFile
from ehr.formats.stream import StreamFile
from ehr.ingest.work import ENCOUNTERS, Work, is_same_stay
from ehr.models import RejectedRow

#: `ImportedPart.key` while files are stored that were compared.
AGAIN = "again"
#: `RejectedRow.part` of stays that differ and were not replaced.
CHANGED = "changed"
LOST = "this file was imported before and is missing or damaged now; bring it as well"


def is_continued(work: Work) -> bool:
    """Return True if these files were compared, and not all stored yet."""
    return work.parts.filter(key=AGAIN, sha256=work.sha256).exists()


def must_compare(work: Work) -> bool:
    """Return True if what the files say of a stay may have changed."""
    parts = dict(work.parts.values_list("key", "sha256"))
    if not parts:
        return False
    other_list = parts.get(ENCOUNTERS, work.list_sha256) != work.list_sha256
    return (
        AGAIN in parts
        or (other_list and not work.listed.separate)
        or RejectedRow.objects.filter(dataset=work.dataset, part=CHANGED).exists()
        or _has_other_files(work, parts)
        or _has_other_stays(work)
    )


def check_lost(work: Work) -> None:
    """Raise WrongFile if a table is missing that was imported.

    Without it every stay would lose rows. Formats whose files have names of their own cannot be
    checked so, unless the file is there and damaged.
    """
    if work.listed.separate:
        return
    gone = {r.file for r in work.listed.refused} | set(work.listed.missing_files)
    for key in work.parts.order_by("key").values_list("key", flat=True):
        name = find_file_name(key)
        if name not in work.digests and gone & {name, name.partition(".")[0].lower()}:
            raise WrongFile(Rejection(name, LOST))


def find_file_name(key: str) -> str:
    """Return the file of an `ImportedPart.key`, which may be a block."""
    name, mark, number = key.rpartition("#")
    return name if mark and number.isdecimal() else key


def _has_other_files(work: Work, parts: Mapping[str, str]) -> bool:
    """Return True for a changed file, or new rows of stays that are there."""
    known: dict[str, set[str]] = {}
    for key, sha256 in parts.items():
        known.setdefault(find_file_name(key), set()).add(sha256)
    finished = work.dataset.encounters.exclude(source_sha256="")
    built = set(finished.values_list("case_id", flat=True))

    def is_late(file: StreamFile) -> bool:
        if file.notes or file.name in parts:
            return False
        place = file.place
        return bool(built) if place is None else work.listed.encounters[place].case_id in built

    readable = [file for file in work.files if work.digests[file.name]]
    return any(
        is_late(file) or bool(known.get(file.name, set()) - {work.digests[file.name]})
        for file in readable
    )


def _has_other_stays(work: Work) -> bool:
    stored = work.find_stored()
    return any(
        e.case_id in stored and not is_same_stay(stored[e.case_id], e)
        for e in work.listed.encounters
    )
