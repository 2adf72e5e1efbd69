"""Store what each stay is in one line.

Lists and search read one column. It is stored after an import, and again if the note or the rules of the line change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from django.db import connection

from ehr.models import Encounter, Note
from ehr.presentation.headline import CATEGORIES, Stay, StayRow, describe_stay
from ehr.record.charts import SUMMARY_FIRST

AT_ONCE = 500
#: Series have no rows without a time (diagnoses), so the rows of the stays are read themselves.
_ROWS = """
    SELECT r.encounter_id, r.event, r.value, r.time
    FROM ehr_encounter e
    JOIN ehr_sourcerow r ON r.dataset_id = e.dataset_id AND r.encounter_id = e.id
    WHERE e.id = ANY(%s) AND split_part(r.event, ':', 1) = ANY(%s)
    ORDER BY r.encounter_id, r.row_index
"""


def load_stays(encounters: Sequence[int]) -> dict[int, Stay]:
    """Return what the stays of these primary keys are, in three queries."""
    rows: dict[int, list[StayRow]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, [list(encounters), list(CATEGORIES)])
        for encounter, event, value, time in cursor.fetchall():
            rows[encounter].append(StayRow(event, value, time))
    notes = dict(
        Note.objects.filter(encounter_id__in=encounters, composed=False)
        .order_by("encounter_id", *SUMMARY_FIRST)
        .distinct("encounter_id")
        .values_list("encounter_id", "text")
    )
    known = Encounter.objects.filter(pk__in=encounters).order_by()
    return {
        pk: describe_stay(
            title=title,
            admitted_at=admitted,
            discharged_at=discharged,
            rows=rows[pk],
            note=notes.get(pk, ""),
        )
        for pk, title, admitted, discharged in known.values_list(
            "pk", "title", "admitted_at", "discharged_at"
        )
    }


def store_headlines(
    encounters: Iterable[int], *, progress: Callable[[int], None] = lambda done: None
) -> int:
    """Store line and unit of these encounters; return how many changed."""
    changed, keys = 0, list(encounters)
    for start in range(0, len(keys), AT_ONCE):
        batch = keys[start : start + AT_ONCE]
        stored = {
            pk: (headline, unit)
            for pk, headline, unit in Encounter.objects.filter(pk__in=batch)
            .order_by()
            .values_list("pk", "headline", "unit")
        }
        new = [
            Encounter(pk=pk, headline=stay.headline, unit=stay.unit)
            for pk, stay in load_stays(batch).items()
            if stored.get(pk) != (stay.headline, stay.unit)
        ]
        changed += Encounter.objects.bulk_update(new, ["headline", "unit"], batch_size=AT_ONCE)
        progress(start + len(batch))
    return changed
