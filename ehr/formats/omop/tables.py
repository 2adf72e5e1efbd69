"""Each table of the OMOP CDM as rows: event, value, unit and kind of time.

One page documents the mapping: docs/reference/omop.md. A table function gets the columns of a block
as text and returns one `Fact` for each kind of row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ehr.formats.columns import Text, first_present, join_texts
from ehr.formats.omop.concepts import Concepts
from ehr.schema import TimeKind

Columns = Mapping[str, Text]
VISITS, PERSONS, NOTES = "visit_occurrence", "person", "note"
#: Inpatient, emergency and inpatient, emergency, inpatient hospital, intensive care, critical care
#: facility, psychiatric and rehabilitation hospital. These visits are stays.
STAYS = ("9201", "262", "9203", "8717", "32037", "581379", "8971", "8920")
INTENSIVE = ("32037", "581379")
#: Types of drug records: a dose was given, or something was ordered, dispensed or listed.
GIVEN = ("32818", "38000179", "38000180", "43542356", "43542357", "43542358")
ORDERED = (
    "32825", "32830", "32833", "32837", "32838", "32839", "32857", "32869",
    "38000175", "38000176", "38000177", "38000178",
)  # fmt: skip
#: Types of claims and billing records: their day is not the day of the act.
BILLED = (
    "32810", "32821", "32844", "32845", "32846", "32853", "32854", "32855", "32859", "32860", "32861",
    "32871", "32872", "32873",
)  # fmt: skip


@dataclass(frozen=True)
class Fact:
    """One row made from each row of the table.

    `time` is the beginning of its columns (`…_date`, `…_datetime`), "" for none. The event is
    `category:name:act`. `number` is a column of numbers; without it, the value is parsed, unless it
    is `coded`. `only` selects the rows for which it is true.
    """

    category: Text | str
    name: Text
    time: str
    kind: Text | TimeKind
    act: Text | str = ""
    value: Text | str = ""
    unit: Text | str = ""
    number: Text | None = None
    coded: bool = False
    only: Text | None = None


@dataclass(frozen=True)
class Table:
    """A table of the CDM.

    `visit` is False if it has no visit_occurrence_id: rows are assigned by person and time.
    """

    name: str
    required: Sequence[str]
    optional: Sequence[str]
    facts: Callable[[Columns, Concepts], Sequence[Fact]]
    visit: bool = True


def _one_of(ids: Text, known: Collection[str]) -> Text:
    return pc.is_in(ids, pa.array(known))


def _present(text: Text) -> Text:
    return pc.not_equal(text, "")


def _concept(c: Columns, concepts: Concepts, *fields: str) -> Text:
    """Return the name of the first of the concepts that has one."""
    return first_present(*(concepts.name(c[field]) for field in fields))


def _name(c: Columns, concepts: Concepts, table: str) -> Text:
    """Return the concept's name, else the code of the source, else the id."""
    own = c[f"{table}_concept_id"]
    return first_present(
        _concept(c, concepts, f"{table}_concept_id", f"{table}_source_concept_id"),
        c[f"{table}_source_value"],
        pc.if_else(pc.equal(own, "0"), "", own),
    )


def _ends(c: Columns, start: str, end: str) -> Text:
    """Return True if the row has an end that is not its start."""
    begun = first_present(c[f"{start}_datetime"], c[f"{start}_date"])
    clock, day = c[f"{end}_datetime"], c[f"{end}_date"]
    first_day = pc.utf8_slice_codeunits(begun, 0, 10)
    later = pc.and_(_present(day), pc.not_equal(day, first_day))
    return pc.if_else(_present(clock), pc.not_equal(clock, begun), later)


def person_facts(c: Columns, concepts: Concepts) -> Sequence[Fact]:
    """Return the sex of a person, for each of the person's stays."""
    sex = first_present(_concept(c, concepts, "gender_concept_id"), c["gender_source_value"])
    name = pa.chunked_array([pa.repeat("gender", len(sex))])
    return [Fact("patient", name, "", TimeKind.UNKNOWN, value=sex, only=_present(sex))]


def _visits(c: Columns, concepts: Concepts) -> Sequence[Fact]:
    at = TimeKind.ADMINISTRATIVE
    came = first_present(
        _concept(c, concepts, "admitted_from_concept_id", "admitting_source_concept_id"),
        c["admitted_from_source_value"],
        c["admitting_source_value"],
    )
    left = first_present(
        _concept(c, concepts, "discharged_to_concept_id", "discharge_to_concept_id"),
        c["discharged_to_source_value"],
        c["discharge_to_source_value"],
    )
    code = pc.if_else(pc.equal(c["visit_concept_id"], "0"), "", c["visit_concept_id"])
    kind = first_present(_concept(c, concepts, "visit_concept_id"), code)
    ended = pc.or_(_present(c["visit_end_date"]), _present(c["visit_end_datetime"]))
    end = pa.chunked_array([pa.repeat("discharge", len(left))])
    return [
        Fact("admission", kind, "visit_start", at, only=_present(kind)),
        Fact("admission", came, "visit_start", at, only=_present(came)),
        Fact("admission", end, "visit_end", at, act=left, only=ended),
    ]


def _details(c: Columns, concepts: Concepts) -> Sequence[Fact]:
    name, at = _name(c, concepts, "visit_detail"), TimeKind.ADMINISTRATIVE
    intensive = _one_of(c["visit_detail_concept_id"], INTENSIVE)
    ended = pc.or_(_present(c["visit_detail_end_date"]), _present(c["visit_detail_end_datetime"]))
    return [
        Fact("transfer", name, "visit_detail_start", at),
        Fact("icu", name, "visit_detail_start", at, act="in", only=intensive),
        Fact("icu", name, "visit_detail_end", at, act="out", only=pc.and_(intensive, ended)),
    ]


def _unit(c: Columns, concepts: Concepts) -> Text:
    return first_present(c["unit_source_value"], concepts.unit(c["unit_concept_id"]))


def _value(c: Columns, concepts: Concepts) -> Text:
    """Return the value in the words of the source.

    A value without a number is the name of a concept if there is one.
    """
    number, said = c["value_as_number"], c["value_source_value"]
    text = [c["value_as_string"]] if "value_as_string" in c else []
    words = first_present(*text, _concept(c, concepts, "value_as_concept_id"), said)
    return pc.if_else(_present(number), first_present(said, number), words)


def _measurements(c: Columns, concepts: Concepts) -> Sequence[Fact]:
    bedside = concepts.is_bedside(c["measurement_concept_id"])
    return [
        Fact(
            pc.if_else(bedside, "chart", "lab"),
            _name(c, concepts, "measurement"),
            "measurement",
            pc.if_else(bedside, TimeKind.CHARTED.value, TimeKind.COLLECTION.value),
            value=_value(c, concepts),
            unit=_unit(c, concepts),
            number=c["value_as_number"],
        )
    ]


def _observations(c: Columns, concepts: Concepts) -> Sequence[Fact]:
    return [
        Fact(
            "chart",
            _name(c, concepts, "observation"),
            "observation",
            TimeKind.CHARTED,
            act=first_present(
                _concept(c, concepts, "qualifier_concept_id"), c["qualifier_source_value"]
            ),
            value=_value(c, concepts),
            unit=_unit(c, concepts),
            number=c["value_as_number"],
        )
    ]


def _drugs(c: Columns, concepts: Concepts) -> Sequence[Fact]:
    """Return a dose or the two ends of an infusion or order."""
    start, end = "drug_exposure_start", "drug_exposure_end"
    kind = c["drug_type_concept_id"]
    given, ordered = _one_of(kind, GIVEN), _one_of(kind, ORDERED)
    ended = _ends(c, start, end)
    begin = pc.if_else(pc.and_(given, pc.invert(ended)), "administered", "start")
    name = _name(c, concepts, "drug")
    route = first_present(c["route_source_value"], _concept(c, concepts, "route_concept_id"))
    unit = join_texts(c["dose_unit_source_value"], route)
    value = first_present(c["quantity"], c["sig"])
    category = pc.if_else(ordered, "order", "med")
    other = pc.if_else(ordered, TimeKind.ORDER.value, TimeKind.UNKNOWN.value)
    time_kind = pc.if_else(given, TimeKind.ADMINISTRATION.value, other)
    last = pc.if_else(ordered, "stop", "end")
    return [
        Fact(category, name, start, time_kind, begin, value, unit),
        Fact(category, name, end, time_kind, last, value, unit, only=ended),
    ]


def _conditions(c: Columns, concepts: Concepts) -> Sequence[Fact]:
    name, code = _name(c, concepts, "condition"), c["condition_source_value"]
    at = TimeKind.ADMINISTRATIVE
    return [Fact("diagnosis", name, "condition_start", at, value=code, coded=True)]


def _procedures(c: Columns, concepts: Concepts) -> Sequence[Fact]:
    name, code = _name(c, concepts, "procedure"), c["procedure_source_value"]
    billed = _one_of(c["procedure_type_concept_id"], BILLED)
    ended = pc.and_(_ends(c, "procedure", "procedure_end"), pc.invert(billed))
    act = pc.if_else(billed, "billed", pc.if_else(ended, "start", ""))
    kind = pc.if_else(billed, TimeKind.ADMINISTRATIVE.value, TimeKind.PERFORMED.value)
    done = TimeKind.PERFORMED
    return [
        Fact("procedure", name, "procedure", kind, act, code, coded=True),
        Fact("procedure", name, "procedure_end", done, "end", code, coded=True, only=ended),
    ]


def _specimens(c: Columns, concepts: Concepts) -> Sequence[Fact]:
    site = first_present(
        _concept(c, concepts, "anatomic_site_concept_id"), c["anatomic_site_source_value"]
    )
    return [
        Fact(
            "specimen",
            join_texts(_name(c, concepts, "specimen"), site, by=", "),
            "specimen",
            TimeKind.COLLECTION,
            act="collected",
            value=c["quantity"],
            unit=_unit(c, concepts),
        )
    ]


def _deaths(c: Columns, concepts: Concepts) -> Sequence[Fact]:
    cause = first_present(
        _concept(c, concepts, "cause_concept_id", "cause_source_concept_id"),
        c["cause_source_value"],
    )
    name = pa.chunked_array([pa.repeat("death", len(cause))])
    at = TimeKind.ADMINISTRATIVE
    return [Fact("admission", name, "death", at, value=cause, coded=True)]


def _times(*beginnings: str) -> tuple[str, ...]:
    return tuple(f"{b}_{end}" for b in beginnings for end in ("date", "datetime"))


def _sources(table: str) -> tuple[str, ...]:
    return f"{table}_source_value", f"{table}_source_concept_id"


_UNIT = ("unit_concept_id", "unit_source_value")
_VALUE = ("value_as_number", "value_as_concept_id", "value_source_value", *_UNIT)
VISIT_REQUIRED = ("visit_occurrence_id", "person_id", "visit_concept_id", "visit_start_date")
VISIT_OPTIONAL = ("visit_start_datetime", *_times("visit_end"))
PERSON_REQUIRED = ("person_id", "gender_concept_id")
PERSON_OPTIONAL = ("gender_source_value",)
TABLES: Sequence[Table] = (
    Table(
        VISITS,
        VISIT_REQUIRED[2:],
        (
            *VISIT_OPTIONAL,
            "admitted_from_concept_id",
            "admitted_from_source_value",
            "discharged_to_concept_id",
            "discharged_to_source_value",
            # CDM 5.3
            "admitting_source_concept_id",
            "admitting_source_value",
            "discharge_to_concept_id",
            "discharge_to_source_value",
        ),
        _visits,
    ),
    Table(
        "visit_detail",
        ("visit_detail_concept_id", "visit_detail_start_date"),
        (
            "visit_detail_start_datetime",
            *_times("visit_detail_end"),
            *_sources("visit_detail"),
        ),
        _details,
    ),
    Table(
        "condition_occurrence",
        ("condition_concept_id", "condition_start_date"),
        ("condition_start_datetime", *_sources("condition")),
        _conditions,
    ),
    Table(
        "procedure_occurrence",
        ("procedure_concept_id", "procedure_date", "procedure_type_concept_id"),
        ("procedure_datetime", *_times("procedure_end"), *_sources("procedure")),
        _procedures,
    ),
    Table(
        "drug_exposure",
        ("drug_concept_id", "drug_exposure_start_date", "drug_type_concept_id"),
        (
            "drug_exposure_start_datetime",
            *_times("drug_exposure_end"),
            *_sources("drug"),
            "quantity",
            "sig",
            "route_concept_id",
            "route_source_value",
            "dose_unit_source_value",
        ),
        _drugs,
    ),
    Table(
        "measurement",
        ("measurement_concept_id", "measurement_date"),
        ("measurement_datetime", *_sources("measurement"), *_VALUE),
        _measurements,
    ),
    Table(
        "observation",
        ("observation_concept_id", "observation_date"),
        (
            "observation_datetime",
            *_sources("observation"),
            *_VALUE,
            "value_as_string",
            "qualifier_concept_id",
            "qualifier_source_value",
        ),
        _observations,
    ),
    Table(
        "specimen",
        ("specimen_concept_id", "specimen_date"),
        (
            "specimen_datetime",
            *_sources("specimen"),
            "quantity",
            *_UNIT,
            "anatomic_site_concept_id",
            "anatomic_site_source_value",
        ),
        _specimens,
        visit=False,
    ),
    Table(
        "death",
        ("death_date",),
        (
            "death_datetime",
            "cause_concept_id",
            "cause_source_concept_id",
            "cause_source_value",
        ),
        _deaths,
        visit=False,
    ),
)
NOTE_REQUIRED = ("person_id", "visit_occurrence_id", "note_date", "note_text")
NOTE_OPTIONAL = ("note_datetime", "note_class_concept_id", "note_title", "note_source_value")
