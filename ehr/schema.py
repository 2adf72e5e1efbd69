"""The data contract of the structured record. Read this first.

It defines the columns of a row. Every importer (`ehr.formats`) turns its files into these columns,
`ehr.ingest.cases` stores them, `ehr.summarise` reads them. No Django here: a notebook can use this
module.
"""

from __future__ import annotations

from enum import StrEnum

import pyarrow as pa


class TimeKind(StrEnum):
    """The clinical act that a recorded time belongs to.

    An order is not an administration (protocol stage 6).
    """

    COLLECTION = "collection"  # a specimen was taken
    RESULT = "result"  # its result became known
    ORDER = "order"  # something was ordered, or an order ended
    ADMINISTRATION = "administration"  # a dose was given
    PERFORMED = "performed"  # a procedure was done
    CHARTED = "charted"  # an observation was written down
    ADMINISTRATIVE = "administrative"  # admission, transfer, billing day
    UNKNOWN = "unknown"


CLOCK = pa.timestamp("us")

#: The columns of a block of rows. Text columns have no nulls (nothing is ""), so that "no value"
#: has one spelling. Rows with exactly the same event form one series.
ROWS = pa.schema(
    [
        # 0-based position in the case's record; with the case, the row's identity
        pa.field("row_index", pa.int32(), nullable=False),
        pa.field("time", CLOCK),  # naive local; null if the record has none (billing codes)
        # when the value became known (storetime), if the source has such a time
        pa.field("result_time", CLOCK),
        pa.field("event", pa.string(), nullable=False),  # category:subcategory:detail, lower case
        pa.field("value", pa.string(), nullable=False),  # the text of the source
        pa.field("numeric_value", pa.float64()),  # null if the value is not a finite number
        pa.field("unit", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),  # table of the source the row came from
        pa.field("time_kind", pa.string(), nullable=False),  # one of TimeKind
    ]
)

#: The event `category:…` → place in clinical priority, 0 first (protocol section 4, "Input").
PRIORITY_OF_CATEGORY = {
    "admission": 0,
    "transfer": 1,
    "service": 1,
    "icu": 1,
    "diagnosis": 2,
    "procedure": 3,
    "med": 4,
    "order": 4,
    "lab": 5,
    "micro": 6,
    "chart": 7,
    "vital": 7,
    "output": 7,
    "omr": 7,
}
PRIORITY_NAMES = (
    "admission, discharge",
    "transfers and services",
    "diagnoses",
    "procedures",
    "medications",
    "labs",
    "microbiology",
    "vitals and charting",
    "other",
)
OTHER_PRIORITY = len(PRIORITY_NAMES) - 1


def find_priority(event: str) -> int:
    """Return the clinical priority of a series by its event's category.

    An unknown category is "other".
    """
    category = event.partition(":")[0].strip().lower()
    return PRIORITY_OF_CATEGORY.get(category, OTHER_PRIORITY)
