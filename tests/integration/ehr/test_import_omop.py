"""Import OMOP tables from a folder and from a live schema.

Imports at the same time double nothing.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from psycopg import sql

from accounts.models import Study
from config.services.paths import OWNER_ROLE, ServicePaths
from ehr.actions import import_dataset
from ehr.ingest.lock import ImportBusy
from ehr.models import Dataset, Encounter, ImportedPart, Note, RejectedRow, SourceRow
from tests.import_fuzz.omop import make_omop
from tests.import_fuzz.worlds import WORLDS
from tests.paths import DATA
from tests.worlds.reconstructed import run_inline
from timelines.models import Occurrence

EXCERPT = DATA / "ehr" / "omop"
#: The types of the CDM's own columns for PostgreSQL.
TYPES = {
    pa.types.is_integer: "integer",
    pa.types.is_decimal: "numeric",
    pa.types.is_date: "date",
    pa.types.is_timestamp: "timestamp",
}


@pytest.fixture
def cdm(services: ServicePaths, transactional_db: None) -> Iterator[str]:
    """Write the excerpt into a schema of the test database.

    Returns the address of the database.
    """
    name = connection.settings_dict["NAME"]
    url = services.build_database_url(OWNER_ROLE, name)
    with psycopg.connect(url, autocommit=True) as database:
        database.execute("CREATE SCHEMA cdm")
        try:
            for path in sorted(EXCERPT.glob("*.parquet")):
                write_table(database, path)
            yield url
        finally:
            database.execute("DROP SCHEMA cdm CASCADE")


def write_table(database: psycopg.Connection[tuple[object, ...]], path: Path) -> None:
    """Write a Parquet file as a table, its rows in another order."""
    table = pq.read_table(path)
    if path.stem == "note":
        visit = pq.read_table(EXCERPT / "visit_occurrence.parquet").to_pylist()
        notes = [
            {
                "note_id": v["visit_occurrence_id"],
                "person_id": v["person_id"],
                "note_date": v["visit_start_date"],
                "note_text": f'Line {v["visit_occurrence_id"]}\n"and more" é',
                "visit_occurrence_id": v["visit_occurrence_id"],
            }
            for v in visit
        ]
        table = pa.Table.from_pylist(notes, schema=table.schema)
    columns = sql.SQL(", ").join(
        sql.SQL("{} {}").format(
            sql.Identifier(field.name),
            sql.SQL(next((t for is_a, t in TYPES.items() if is_a(field.type)), "text")),
        )
        for field in table.schema
    )
    name = sql.Identifier("cdm", path.stem)
    database.execute(sql.SQL("CREATE TABLE {} ({})").format(name, columns))
    statement = sql.SQL("COPY {} FROM STDIN").format(name)
    with database.cursor() as cursor, cursor.copy(statement) as copy:
        for row in reversed(table.to_pylist()):
            copy.write_row(list(row.values()))


def bring(**options: object) -> str:
    """Run the command; return what it printed."""
    out = io.StringIO()
    given = {"format": "omop", "name": "cohort", "study": "imports", **options}
    call_command("import_dataset", stdout=out, stderr=io.StringIO(), **given)
    return out.getvalue()


def stored(name: str) -> list[list[tuple[object, ...]]]:
    """Return cases, rows and notes of a dataset, without keys."""
    dataset = Dataset.objects.get(name=name)
    cases = dataset.encounters.order_by("case_id")
    rows = SourceRow.objects.filter(dataset=dataset)
    order = ("encounter__case_id", "event", "time", "value", "unit", "time_kind", "numeric_value")
    notes = Note.objects.filter(encounter__dataset=dataset)
    return [
        list(cases.values_list("case_id", "admitted_at", "discharged_at", "subject_key")),
        list(rows.order_by(*order).values_list(*order)),
        list(
            notes.order_by("text").values_list("encounter__case_id", "text", "kind", "charted_at")
        ),
    ]


def test_a_live_schema_gives_the_rows_of_its_tables_as_files(cdm, tmp_path, settings):
    with psycopg.connect(cdm) as database:
        for path in EXCERPT.glob("*.parquet"):
            query = sql.SQL("SELECT * FROM {}").format(sql.Identifier("cdm", path.stem))
            found = database.execute(query)
            names = [column.name for column in found.description or ()]
            cells = list(zip(*found, strict=True)) or [()] * len(names)
            columns = [
                pa.array([None if v is None else str(v) for v in c], pa.string()) for c in cells
            ]
            pq.write_table(pa.table(dict(zip(names, columns, strict=True))), tmp_path / path.name)
    bring(path=tmp_path, name="files")
    settings.OMOP_DATABASE_URL = cdm
    assert "29 cases imported" in bring(schema="cdm", name="live")
    assert stored("live") == stored("files")
    assert len(stored("live")[2]) == 29
    # The schema is copied again, in other pieces of time, and nothing changes.
    assert "0 cases imported, 29 unchanged, 0 refused; 0 rows" in bring(schema="cdm", name="live")
    case = stored("live")[0][0][0]
    assert "1 case imported" in bring(schema="cdm", database=cdm, name="one", cases=[case])
    (only,) = stored("one")[0]
    assert only[0] == case
    with psycopg.connect(cdm, autocommit=True) as database:
        database.execute("UPDATE cdm.measurement SET person_id = NULL")
    with pytest.raises(CommandError, match="rejected"):
        bring(schema="cdm", name="live")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"schema": "nothing", "database": "{url}"}, "has no table visit_occurrence"),
        ({"schema": "cdm", "database": "postgresql://u:SECRETPW@127.0.0.1:1/x"}, "cannot be read"),
        ({"schema": "cdm", "database": "postgresql://u:SECRETPW%zz@h/x"}, "address"),
        ({"schema": "cdm"}, "OMOP_DATABASE_URL"),
        ({"schema": "cdm", "database": "{url}", "path": Path()}, "--path, or --schema"),
        ({"schema": "cdm", "database": "{url}", "format": "meds"}, "Only --format omop"),
        ({}, "--path, or --schema"),
    ],
)
def test_a_schema_that_cannot_be_read_is_named_without_the_password(
    cdm, settings, capfd, options, words
):
    settings.OMOP_DATABASE_URL = ""
    given = {k: cdm if v == "{url}" else v for k, v in options.items()}
    with pytest.raises(CommandError, match=words) as caught:
        bring(**given)
    shown = capfd.readouterr()
    assert "SECRETPW" not in f"{caught.value!r} {shown.out} {shown.err}"
    assert caught.value.__cause__ is None
    assert not Encounter.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("format", ["omop", "text"])
def test_a_second_import_at_the_same_time_doubles_nothing(tmp_path, format):
    WORLDS[format](tmp_path / "input")
    study = Study.objects.create(name="imports")
    refused: list[type] = []

    def import_it(progress=lambda done, total, words: None):
        import_dataset(
            path=tmp_path / "input",
            format=format,
            name="cohort",
            study=study,
            by=None,
            progress=progress,
        )

    def meanwhile(done: int, total: int, words: str) -> None:
        with ThreadPoolExecutor(1) as pool:
            refused.append(type(pool.submit(in_another_connection).exception()))

    def in_another_connection() -> None:
        try:
            import_it()
        finally:
            connection.close()

    import_it(meanwhile)
    assert len(refused) > 3
    assert set(refused) == {ImportBusy}
    models = (Encounter, Note, SourceRow, RejectedRow, ImportedPart)
    once = [model._default_manager.count() for model in models]
    import_it()
    assert [model._default_manager.count() for model in models] == once
    assert once[:2] == {"omop": [2, 3], "text": [3, 4]}[format]


@pytest.mark.django_db(transaction=True)
def test_a_stay_with_a_note_alone_is_reconstructed(tmp_path):
    (tmp_path / "a.txt").write_text(
        "She was admitted with fever. Two hours after admission she received ceftriaxone.\n"
    )
    (tmp_path / "index.csv").write_text("file,case_id,admitted_at\na.txt,a,2050-01-01T08:00:00Z\n")
    bring(format="text", path=tmp_path)
    run_inline(Dataset.objects.get())
    assert Occurrence.objects.filter(mention__contains="ceftriaxone").exists()


def test_a_folder_is_imported_by_the_command(db, tmp_path):
    make_omop(tmp_path / "o")
    assert "2 cases imported, 0 unchanged, 0 refused; 28 rows" in bring(path=tmp_path / "o")
