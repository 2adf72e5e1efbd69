"""The data dictionary of the exports.

It is a file next to every table (`table_schema`), and a page of the documentation. `python -m
timelines.formats.dictionary` writes docs/reference/timeline-export.md; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from timelines.domain import UID_PATTERN, Lane, Polarity, TimelineKind

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "reference" / "timeline-export.md"


@dataclass(frozen=True)
class Field:
    """One column: its type as in Parquet, its unit and a description.

    `constraints` are those of a Table Schema.
    """

    name: str
    type: str
    unit: str
    description: str
    constraints: Mapping[str, object] = field(default_factory=dict)


FIELDS = (
    Field("case_id", "string", "", "The case within its dataset.", {"required": True}),
    Field(
        "source",
        "string",
        "",
        "Who made the timeline: a backbone, a backbone with its variant, or `reference`.",
    ),
    Field(
        "kind",
        "string",
        "",
        "`text_only` (from the note alone), `revised` (after the structured record) or `reference`"
        " (authored).",
        {"required": True, "enum": [kind.value for kind in TimelineKind]},
    ),
    Field(
        "alternative",
        "int32",
        "",
        "1 is the primary timeline; 2 and more are further revised alternatives.",
        {"required": True, "minimum": 1},
    ),
    Field(
        "uid4",
        "string",
        "",
        "The occurrence's identifier within its inventory: four lower-case hex digits. Empty: no"
        " inventory.",
        {"pattern": f"^{UID_PATTERN.pattern}$"},
    ),
    Field(
        "mention",
        "string",
        "",
        'The occurrence in words that are clear without the note; a backslash precedes `\\`, `|` and `"`.',
    ),
    Field(
        "start",
        "int32",
        "code points",
        "First character of the occurrence in the note. Empty: no place in the note.",
        {"minimum": 0},
    ),
    Field("end", "int32", "code points", "End of the occurrence, exclusive.", {"minimum": 1}),
    Field(
        "time",
        "double",
        "hours",
        "Time of the occurrence, from admission (negative before). Empty: not placed.",
    ),
    Field("lower", "double", "hours", "Earliest plausible time."),
    Field("upper", "double", "hours", "Latest plausible time."),
    Field(
        "known",
        "int8",
        "",
        "1: stated as an absolute time or in explicit relation to admission; 0: inferred. Empty: an"
        " imported file does not say.",
        {"enum": [0, 1]},
    ),
    Field(
        "context",
        "list<string>",
        "",
        "At most five identifiers of other occurrences, most relevant first (CSV: separated by spaces).",
    ),
    Field(
        "evidence",
        "list<struct>",
        "",
        "The structured rows that support the time (CSV: as JSON). Empty for `text_only`.",
    ),
    Field(
        "polarity",
        "string",
        "",
        "`present`, `absent`, `planned` or `family`. Empty: no inventory.",
        {"enum": [polarity.value for polarity in Polarity]},
    ),
    Field(
        "lane",
        "string",
        "",
        "Category: history, finding, lab, medication, procedure, transfer or plan.",
        {"enum": [lane.value for lane in Lane]},
    ),
    Field(
        "rows",
        "list<int32>",
        "",
        "`row_index` of all rows that support the time (CSV: separated by spaces).",
    ),
    Field("reason", "string", "", "The reason for this time."),
    Field("decided_by", "string", "", "The rule, model or person that decided."),
    Field(
        "confidence",
        "double",
        "the source's",
        "Certainty of the source, on its own scale. Empty: not given.",
    ),
    Field(
        "near_rows",
        "list<int32>",
        "",
        "`row_index` of rows of other things that the time leans on (CSV: separated by spaces).",
    ),
    Field(
        "span_text",
        "string",
        "",
        "The text of the span in the note; only in exports with note text.",
    ),
)

EVIDENCE_FIELDS = (
    Field("row_index", "int32", "", "0-based position of the row in the case's record."),
    Field("event", "string", "", "`category:subcategory:detail`."),
    Field("value", "string", "", "As the record has it."),
    Field("unit", "string", "", "As the record has it."),
    Field("hours", "double", "hours", "The row's time, from admission."),
    Field(
        "time_kind",
        "string",
        "",
        "The act at that time: collection, result, order, administration, performed, charted, …",
    ),
    Field("query", "string", "", "The query that found the row. Empty for references."),
    Field("dense_rank", "int32", "", "Rank of the row's series for that query by cosine, from 1."),
    Field("dense_score", "double", "", "The cosine."),
    Field(
        "rerank_score",
        "double",
        "0…1",
        "The reranker's relevance ρ. Scores of two rerankers are not comparable.",
    ),
    Field(
        "link",
        "string",
        "",
        "How the time is linked to the row: `cited` by the model, `cited_elsewhere` (cited though found"
        " for another occurrence), `inferred` from equal hours, `matched` by a rule. Empty: not known.",
    ),
)


def fields(*, with_note_text: bool) -> tuple[Field, ...]:
    """The columns of a table in order."""
    return FIELDS if with_note_text else FIELDS[:-1]


def render() -> str:
    """The documentation page."""
    return "\n".join(
        [
            "# Exported timelines",
            "",
            (
                "Generated from `timelines/formats/dictionary.py` by `python -m"
                " timelines.formats.dictionary`."
            ),
            "",
            "`manage.py export_timelines --dataset NAME --format FORMAT --out PATH` writes one line for",
            "each occurrence of each timeline (JSONL, CSV, Parquet), or one of the formats below.",
            "",
            "If a source has several runs, the export uses the study timeline, and the latest finished",
            "run for cases that it lacks; `--run` chooses another. Times are hours from admission. A text",
            "cell of CSV that a spreadsheet would read as a formula begins with an apostrophe.",
            "",
            "`TABLE.schema.json` next to a CSV or Parquet table describes these columns as a Table Schema of",
            "Frictionless Data: `frictionless validate t.csv --schema t.csv.schema.json`.",
            "",
            *_table(FIELDS),
            "",
            "Each element of `evidence`:",
            "",
            *_table(EVIDENCE_FIELDS),
            "",
            "If a run read several notes of a stay as a chart, lines of JSONL may also have `linked`: the",
            "identifiers of occurrences in other notes that are the same event. They have one time unless",
            "the notes exclude each other; `reason` says where it is from, or how the notes differ.",
            "",
            "`meds` has one row for each occurrence: `subject_id`, `time` (the record's clock), `code`",
            "(`OCCURRENCE//LANE//POLARITY`), `numeric_value` (empty) and `text_value` (the mention). The",
            "columns above except `evidence` are extra columns; `ordinal` is the occurrence's place in its",
            "timeline. Lists are text with spaces between the items, `known` is a number, and empty text",
            "is null, so that meds_reader can store them. `metadata/subject_splits.parquet` has a split for",
            "each subject, the same one in every export: about 80 % train, 10 % tuning and 10 % held_out,",
            "by a digest of the subject.",
            "",
            "`chains` has the columns and the chain behind each time: span, first estimate, queries, rows",
            "and final time. `fhir` has a FHIR R4 Bundle for each timeline. `references` has a",
            "`reference.jsonl` for each case, as an import of format `cases` reads it; occurrences without a",
            "place in the note are left out.",
            "",
            "`prov` has one PROV-JSON document on each line, for each occurrence of a run, with everything",
            "that its times were derived from. Names are unique to a run and a case, so the documents of a",
            "case can be merged. `link` of a derivation is that of `evidence`, or `near` for `near_rows`.",
            "",
            "`brat`, `doccano`, `label_studio`, `i2b2` and `bsv` are described in",
            "[foreign timelines](foreign-timelines.md). They contain the columns above except `evidence`,",
            "in the fields that each format has for extra data. `manage.py import_timelines` reads every",
            "format but `chains`, `fhir`, `prov` and `references` again. It restores the timeline; the query,",
            "ranks and scores of `evidence` are stored only with the run that searched.",
            "",
        ]
    )


def _table(listed: tuple[Field, ...]) -> list[str]:
    head = ["| column | type | unit | description |", "|---|---|---|---|"]
    escaped = [(f.name, f.type, f.unit, f.description.replace("|", "\\|")) for f in listed]
    return head + [
        f"| `{name}` | {kind} | {unit} | {words} |" for name, kind, unit, words in escaped
    ]


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
