"""Copy the OMOP tables of a live PostgreSQL schema into a folder.

`ehr.formats.omop` reads the folder, so both ways of import make the same rows. Server-side cursors
read one snapshot, in order of the tables' keys: an unchanged schema gives the same files, and a
repeated import changes nothing. Only persons with a stay are copied.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from ehr.formats.base import FormatError
from ehr.formats.omop import concepts, tables

ROWS_AT_ONCE = 5_000
CONNECT_SECONDS = 10
#: Tables whose key is not `<table>_id`.
KEYS = {"death": "person_id"}


@contextmanager
def copied_schema(url: str, schema: str, cases: Collection[str] | None) -> Iterator[Path]:
    """Yield a folder with the tables; it is deleted afterwards.

    `cases`: only persons with these visits. Raises FormatError, which never has the password.
    """
    with tempfile.TemporaryDirectory(prefix="omop-") as name:
        folder = Path(name)
        place = _describe_place(url)
        try:
            with psycopg.connect(url, connect_timeout=CONNECT_SECONDS) as connection:
                connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                connection.read_only = True
                connection.execute("SET DateStyle = ISO")
                _Copy(connection, schema, cases, folder).run()
        except psycopg.Error as error:
            state = f", SQLSTATE {error.sqlstate}" if error.sqlstate else ""
            raise FormatError(
                f"The schema {schema} of {place} cannot be read"
                f" ({type(error).__name__}{state}). Check the address, the password and the rights."
            ) from None
        yield folder


@dataclass
class _Copy:
    """The tables of one schema on their way into a folder."""

    connection: psycopg.Connection[Any]
    schema: str
    cases: Collection[str] | None
    folder: Path
    used: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Copy every table that is there. Raises FormatError."""
        there = self._find_columns()
        if tables.VISITS not in there:
            raise FormatError(f"The schema {self.schema} has no table {tables.VISITS}.")
        for table, columns in _columns_to_read().items():
            if table in there:
                self._copy(table, there[table], columns, self._only_persons(there))
        if concepts.CONCEPT in there:
            names, known = there[concepts.CONCEPT], sorted(self.used)
            condition = sql.SQL("{}::text = ANY({})").format(
                sql.Identifier(names.columns.get("concept_id", "concept_id")), sql.Literal(known)
            )
            self._copy(concepts.CONCEPT, names, (*concepts.REQUIRED, *concepts.OPTIONAL), condition)

    def _find_columns(self) -> dict[str, _Found]:
        """Return table → its names in the schema. Raises FormatError."""
        rows = self.connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE table_schema = %s AND lower(table_name) = ANY(%s)",
            [self.schema, [*_columns_to_read(), concepts.CONCEPT]],
        )
        found: dict[str, _Found] = {}
        for table, column in rows:
            known = found.setdefault(table.lower(), _Found(table))
            if known.name != table:
                raise FormatError(f"The schema {self.schema} has {table.lower()} twice.")
            known.columns[column.lower()] = column
        return found

    def _only_persons(self, there: dict[str, _Found]) -> sql.Composable:
        """Return the condition that the person has a stay that is imported."""
        visits = there[tables.VISITS]
        column = "visit_occurrence_id" if self.cases is not None else "visit_concept_id"
        wanted = sorted(self.cases) if self.cases is not None else list(tables.STAYS)
        return sql.SQL(
            "{person} IN (SELECT {person} FROM {table} WHERE {column}::text = ANY({ids}))"
        ).format(
            person=sql.Identifier(visits.columns.get("person_id", "person_id")),
            table=sql.Identifier(self.schema, visits.name),
            column=sql.Identifier(visits.columns.get(column, column)),
            ids=sql.Literal(wanted),
        )

    def _copy(
        self, table: str, found: _Found, columns: Sequence[str], condition: sql.Composable
    ) -> None:
        """Write one table as Parquet, every value as text."""
        names = [name for name in columns if name in found.columns]
        key = KEYS.get(table, f"{table}_id")
        order = [key] if key in found.columns else names
        query = sql.SQL("SELECT {columns} FROM {table} WHERE {condition} ORDER BY {order}").format(
            columns=sql.SQL(", ").join(
                sql.SQL("{}::text").format(sql.Identifier(found.columns[name])) for name in names
            ),
            table=sql.Identifier(self.schema, found.name),
            condition=condition,
            order=sql.SQL(", ").join(sql.Identifier(found.columns[name]) for name in order),
        )
        layout = pa.schema([(name, pa.string()) for name in names])
        concept_columns = [i for i, name in enumerate(names) if name.endswith("_concept_id")]
        with (
            pq.ParquetWriter(self.folder / f"{table}.parquet", layout) as writer,
            self.connection.cursor(name=f"occurrent_{table}") as cursor,
        ):
            cursor.execute(query)
            while rows := cursor.fetchmany(ROWS_AT_ONCE):
                cells = list(zip(*rows, strict=True))
                for i in concept_columns:
                    self.used.update(filter(None, cells[i]))
                arrays = [pa.array(column, pa.string()) for column in cells]
                writer.write_table(pa.table(arrays, schema=layout))


@dataclass
class _Found:
    """The name of a table, and column in lower case → its name."""

    name: str
    columns: dict[str, str] = field(default_factory=dict)


def _columns_to_read() -> dict[str, tuple[str, ...]]:
    """Return table → the columns that the format reads."""
    both = ("person_id", "visit_occurrence_id")
    read = {
        tables.PERSONS: (*tables.PERSON_REQUIRED, *tables.PERSON_OPTIONAL),
        **{t.name: (*both[: 1 + t.visit], *t.required, *t.optional) for t in tables.TABLES},
        tables.NOTES: (*tables.NOTE_REQUIRED, *tables.NOTE_OPTIONAL),
    }
    return {table: tuple(dict.fromkeys(columns)) for table, columns in read.items()}


def _describe_place(url: str) -> str:
    """Return host and name of the database, without user and password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise FormatError(
            "The address of the database cannot be read. Write postgresql://user@host:port/name."
        ) from None
    return f"{parts.get('dbname') or 'the database'} on {parts.get('host') or 'this machine'}"
