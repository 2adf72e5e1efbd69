"""Each table of MIMIC-IV as rows: event, value, unit and kind of time.

The kind is the act that a time refers to. There is one entry for each table, with the published
column names; the mapping is documented with the `cases` folder format. A table function gets the
columns of a block as text and returns one `Fact` for each kind of row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from ehr.formats.columns import DATE_ONLY, Text, event_name, first_present, join_texts
from ehr.schema import TimeKind

Columns = Mapping[str, Text]
#: Looks texts up in a dictionary table; unknown keys give "".
Lookup = Callable[[str, Text], Text]


@dataclass(frozen=True)
class Fact:
    """One row made from each row of the table.

    If `time` is None, the table has none. `only` selects the rows for which it is true.
    """

    event: Text
    time: str | None
    kind: TimeKind
    value: Text | str = ""
    unit: Text | str = ""
    result_time: str | None = None
    only: Text | None = None


@dataclass(frozen=True)
class Table:
    """A file of the published layout.

    If `admission` is False, the table has no hadm_id column, and rows are assigned by subject and
    time. `dictionaries` are the files of its lookups.
    """

    path: str
    columns: Sequence[str]
    facts: Callable[[Columns, Lookup], Sequence[Fact]]
    optional: Sequence[str] = field(default=())
    admission: bool = True
    dictionaries: Sequence[str] = ()


def _present(text: Text) -> Text:
    return pc.not_equal(text, "")


def _admissions(c: Columns, _: Lookup) -> Sequence[Fact]:
    at = TimeKind.ADMINISTRATIVE
    fixed = {"edregtime": "ed registration", "edouttime": "ed out", "deathtime": "death"}
    return [
        *(
            Fact(
                event_name("admission", pa.repeat(name, len(c[time])).cast(pa.string())),
                time,
                at,
                only=_present(c[time]),
            )
            for time, name in fixed.items()
        ),
        *(
            Fact(event_name("admission", c[name]), "admittime", at, only=_present(c[name]))
            for name in ("admission_type", "admission_location")
        ),
        Fact(
            event_name(
                "admission", pa.repeat("discharge", len(c["dischtime"])), c["discharge_location"]
            ),
            "dischtime",
            at,
            only=_present(c["dischtime"]),
        ),
    ]


def _transfers(c: Columns, _: Lookup) -> Sequence[Fact]:
    return [
        Fact(
            event_name("transfer", first_present(c["careunit"], c["eventtype"])),
            "intime",
            TimeKind.ADMINISTRATIVE,
        )
    ]


def _services(c: Columns, _: Lookup) -> Sequence[Fact]:
    return [Fact(event_name("service", c["curr_service"]), "transfertime", TimeKind.ADMINISTRATIVE)]


def _code(c: Columns, lookup: Lookup, table: str) -> Text:
    """Return the title of a billing code.

    It is the code itself if the dictionary is missing or has no entry.
    """
    return first_present(
        lookup(table, join_texts(c["icd_version"], c["icd_code"], by="/")), c["icd_code"]
    )


def _diagnoses(c: Columns, lookup: Lookup) -> Sequence[Fact]:
    return [
        Fact(
            event_name("diagnosis", _code(c, lookup, "hosp/d_icd_diagnoses")),
            None,
            TimeKind.UNKNOWN,
            c["icd_code"],
        )
    ]


def _drgs(c: Columns, _: Lookup) -> Sequence[Fact]:
    return [
        Fact(
            event_name("diagnosis", first_present(c["description"], c["drg_code"])),
            None,
            TimeKind.UNKNOWN,
            c["drg_code"],
        )
    ]


def _procedures(c: Columns, lookup: Lookup) -> Sequence[Fact]:
    name = event_name("procedure", _code(c, lookup, "hosp/d_icd_procedures"), "billed")
    return [Fact(name, "chartdate", TimeKind.ADMINISTRATIVE, c["icd_code"], DATE_ONLY)]


def _labs(c: Columns, lookup: Lookup) -> Sequence[Fact]:
    label = first_present(lookup("hosp/d_labitems:label", c["itemid"]), c["itemid"])
    value = first_present(c["value"], c["valuenum"], c.get("comments", c["value"]))
    name = event_name("lab", label, lookup("hosp/d_labitems:fluid", c["itemid"]))
    return [Fact(name, "charttime", TimeKind.COLLECTION, value, c["valueuom"], "storetime")]


def _cultures(c: Columns, _: Lookup) -> Sequence[Fact]:
    found = join_texts(
        c["org_name"], join_texts(c["ab_name"], c["interpretation"], by=": "), by=", "
    )
    name = event_name("micro", c["test_name"], c["spec_type_desc"])
    return [
        Fact(
            name,
            "charttime|chartdate",
            TimeKind.COLLECTION,
            first_present(found, c["comments"]),
            result_time="storetime",
        )
    ]


def _orders(c: Columns, name: Text, value: Text, unit: Text) -> Sequence[Fact]:
    """The two ends of an order; without any time, a start that has none."""
    started, stopped = _present(c["starttime"]), _present(c["stoptime"])
    ends = (
        ("start", "starttime", pc.or_(started, pc.invert(stopped))),
        ("stop", "stoptime", stopped),
    )
    return [
        Fact(event_name("order", name, end), time, TimeKind.ORDER, value, unit, only=only)
        for end, time, only in ends
    ]


def _prescriptions(c: Columns, _: Lookup) -> Sequence[Fact]:
    return _orders(c, c["drug"], c["dose_val_rx"], join_texts(c["dose_unit_rx"], c["route"]))


def _pharmacy(c: Columns, _: Lookup) -> Sequence[Fact]:
    named = _present(c["medication"])
    facts = _orders(c, c["medication"], c["frequency"], c["route"])
    return [replace(f, only=pc.and_(named, f.only)) for f in facts]


def _provider_orders(c: Columns, _: Lookup) -> Sequence[Fact]:
    ended = pc.equal(c["transaction_type"], "D/C")
    end = pc.if_else(ended, "stop", "start")
    return [
        Fact(
            event_name("order", join_texts(c["order_type"], c["order_subtype"]), end),
            "ordertime",
            TimeKind.ORDER,
            c["order_status"],
        )
    ]


def _administrations(c: Columns, lookup: Lookup) -> Sequence[Fact]:
    dose, unit = (
        lookup("hosp/emar_detail:dose", c["emar_id"]),
        lookup("hosp/emar_detail:unit", c["emar_id"]),
    )
    name = event_name("med", c["medication"], c["event_txt"])
    return [
        Fact(
            name,
            "charttime",
            TimeKind.ADMINISTRATION,
            dose,
            unit,
            "storetime",
            only=_present(c["medication"]),
        )
    ]


def _measurements(c: Columns, _: Lookup) -> Sequence[Fact]:
    return [
        Fact(
            event_name("omr", c["result_name"]),
            "chartdate",
            TimeKind.CHARTED,
            c["result_value"],
            DATE_ONLY,
        )
    ]


def _item(c: Columns, lookup: Lookup) -> Text:
    return first_present(lookup("icu/d_items:label", c["itemid"]), c["itemid"])


def _inputs(c: Columns, lookup: Lookup) -> Sequence[Fact]:
    label = _item(c, lookup)
    rated = _present(c["rate"])
    value, unit = (
        pc.if_else(rated, c["rate"], c["amount"]),
        pc.if_else(rated, c["rateuom"], c["amountuom"]),
    )
    return [
        Fact(
            event_name("med", label, "start"),
            "starttime",
            TimeKind.ADMINISTRATION,
            value,
            unit,
            "storetime",
        ),
        Fact(
            event_name("med", label, "end"),
            "endtime",
            TimeKind.ADMINISTRATION,
            c["amount"],
            c["amountuom"],
            "storetime",
        ),
    ]


def _outputs(c: Columns, lookup: Lookup) -> Sequence[Fact]:
    return [
        Fact(
            event_name("output", _item(c, lookup)),
            "charttime",
            TimeKind.CHARTED,
            c["value"],
            c["valueuom"],
            "storetime",
        )
    ]


def _bedside_procedures(c: Columns, lookup: Lookup) -> Sequence[Fact]:
    label = _item(c, lookup)
    ends = (("start", "starttime"), ("end", "endtime"))
    return [
        Fact(event_name("procedure", label, end), time, TimeKind.PERFORMED, result_time="storetime")
        for end, time in ends
    ]


def _charted(c: Columns, lookup: Lookup) -> Sequence[Fact]:
    value = first_present(c["value"], c["valuenum"]) if "valuenum" in c else c["value"]
    return [
        Fact(
            event_name("chart", _item(c, lookup)),
            "charttime",
            TimeKind.CHARTED,
            value,
            c["valueuom"],
            "storetime",
        )
    ]


def _stays(c: Columns, _: Lookup) -> Sequence[Fact]:
    at = TimeKind.ADMINISTRATIVE
    return [
        Fact(event_name("icu", c["first_careunit"], "in"), "intime", at),
        Fact(
            event_name("icu", c["last_careunit"], "out"), "outtime", at, only=_present(c["outtime"])
        ),
    ]


ITEMS = ("icu/d_items",)
DETAIL = "hosp/emar_detail"
INFUSION = ("itemid", "starttime", "endtime", "amount", "amountuom", "rate", "rateuom")
TABLES: Sequence[Table] = (
    Table(
        "hosp/admissions",
        (
            "admittime",
            "dischtime",
            "deathtime",
            "admission_type",
            "admission_location",
            "discharge_location",
            "edregtime",
            "edouttime",
        ),
        _admissions,
    ),
    Table("hosp/transfers", ("eventtype", "careunit", "intime"), _transfers),
    Table("hosp/services", ("transfertime", "curr_service"), _services),
    Table("icu/icustays", ("first_careunit", "last_careunit", "intime", "outtime"), _stays),
    Table(
        "hosp/diagnoses_icd",
        ("icd_code", "icd_version"),
        _diagnoses,
        dictionaries=("hosp/d_icd_diagnoses",),
    ),
    Table("hosp/drgcodes", ("drg_code", "description"), _drgs),
    Table(
        "hosp/procedures_icd",
        ("chartdate", "icd_code", "icd_version"),
        _procedures,
        dictionaries=("hosp/d_icd_procedures",),
    ),
    Table(
        "icu/procedureevents",
        ("starttime", "endtime", "itemid"),
        _bedside_procedures,
        ("storetime",),
        dictionaries=ITEMS,
    ),
    Table(
        "hosp/emar",
        ("emar_id", "charttime", "medication", "event_txt"),
        _administrations,
        ("storetime",),
        dictionaries=(DETAIL,),
    ),
    Table("icu/inputevents", INFUSION, _inputs, ("storetime",), dictionaries=ITEMS),
    Table("icu/ingredientevents", INFUSION, _inputs, ("storetime",), dictionaries=ITEMS),
    Table(
        "hosp/prescriptions",
        ("starttime", "stoptime", "drug", "dose_val_rx", "dose_unit_rx", "route"),
        _prescriptions,
    ),
    Table(
        "hosp/pharmacy", ("starttime", "stoptime", "medication", "frequency", "route"), _pharmacy
    ),
    Table(
        "hosp/poe",
        ("ordertime", "order_type", "order_subtype", "transaction_type", "order_status"),
        _provider_orders,
    ),
    Table(
        "hosp/labevents",
        ("itemid", "charttime", "value", "valuenum", "valueuom"),
        _labs,
        ("storetime", "comments"),
        dictionaries=("hosp/d_labitems",),
    ),
    Table(
        "hosp/microbiologyevents",
        (
            "chartdate",
            "charttime",
            "spec_type_desc",
            "test_name",
            "org_name",
            "ab_name",
            "interpretation",
            "comments",
        ),
        _cultures,
        ("storetime",),
    ),
    Table(
        "icu/chartevents",
        ("charttime", "itemid", "value", "valuenum", "valueuom"),
        _charted,
        ("storetime",),
        dictionaries=ITEMS,
    ),
    Table(
        "icu/datetimeevents",
        ("charttime", "itemid", "value", "valueuom"),
        _charted,
        ("storetime",),
        dictionaries=ITEMS,
    ),
    Table(
        "icu/outputevents",
        ("charttime", "itemid", "value", "valueuom"),
        _outputs,
        ("storetime",),
        dictionaries=ITEMS,
    ),
    Table("hosp/omr", ("chartdate", "result_name", "result_value"), _measurements, admission=False),
)
