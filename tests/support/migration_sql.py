"""Find statements of migrations that lock users out or break running code.

A statement is dangerous if it locks a large table for as long as it has rows, or if code of the
release before, which still runs beside it, could then no longer read or write a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import sqlparse

#: Tables with rows for each row, event, finding, call or opening. The others have a row for each
#: thing that a person made.
_LARGE = {
    "accounts": "auditevent auditlink notification",
    "adjudication": "comparison decision finding game",
    "ehr": "encounter eventseries note seriesembedding sourcerow",
    "llm_runtime": "modelcall",
    "timelines": "candidate caserun entry evidence inventory mention occurrence query stagebatch"
    " stagerun timeline",
}
LARGE = frozenset(f"{app}_{table}" for app, tables in _LARGE.items() for table in tables.split())
_NAME = r'(?:"?public"?\.)?"?(?P<table>\w+)"?'
_ALTER = rf"ALTER TABLE (?:IF EXISTS )?(?:ONLY )?{_NAME} .*"
#: Statements that lock a large table for long: pattern and reason.
LOCKING = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), reason)
    for pattern, reason in (
        (rf"CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY).*? ON (?:ONLY )?{_NAME}", "builds an index"),
        (
            rf"{_ALTER}ADD COLUMN .*(?:GENERATED|random\(|clock_timestamp\(|nextval\()",
            "rewrites it",
        ),
        (rf"{_ALTER}ALTER COLUMN \S+ (?:SET DATA )?TYPE", "rewrites it"),
        (rf"{_ALTER}ALTER COLUMN \S+ SET NOT NULL", "reads all rows"),
        (rf"{_ALTER}ADD COLUMN .*(?:REFERENCES|CHECK)", "reads all rows"),
        (rf"{_ALTER}ADD CONSTRAINT (?!.*(?:NOT VALID|USING INDEX))", "reads all rows"),
        (rf"(?:UPDATE|DELETE FROM) (?:ONLY )?{_NAME}", "changes rows"),
        (rf"(?:CLUSTER|VACUUM FULL|REINDEX TABLE|TRUNCATE) {_NAME}", "rewrites it"),
    )
)
#: Statements after which code of the release before fails, in any table.
BREAKING = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), reason)
    for pattern, reason in (
        (rf"{_ALTER}(?:DROP COLUMN|RENAME )", "running code reads this column"),
        (rf"DROP TABLE (?:IF EXISTS )?{_NAME}", "running code reads this table"),
        (rf"ALTER TABLE {_NAME} RENAME TO", "running code reads this table"),
        (rf"{_ALTER}ALTER COLUMN \S+ DROP DEFAULT", "running code inserts without this column"),
        (
            rf"{_ALTER}ADD COLUMN (?!.*DEFAULT).*NOT NULL",
            "running code inserts without this column",
        ),
    )
)
#: Whose effect cannot be read here.
_OPAQUE = re.compile(r"DO\b", re.IGNORECASE)
_BODY = re.compile(r"\$(\w*)\$.*?\$\1\$", re.DOTALL)
_CREATED = re.compile(rf"CREATE TABLE (?:IF NOT EXISTS )?{_NAME}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Danger:
    """A dangerous statement: its table and why."""

    table: str
    reason: str


def split_statements(texts: Iterable[str]) -> Iterator[str]:
    """Yield each statement, without comments and bodies of functions."""
    for text in texts:
        for part in sqlparse.split(_BODY.sub("$$ $$", text)):
            statement = " ".join(sqlparse.format(part, strip_comments=True).split())
            if statement.rstrip(";"):
                yield statement


def find_created(statements: Iterable[str]) -> set[str]:
    """Return the tables that the statements create.

    They are empty, and unknown to earlier code.
    """
    return {match["table"] for line in statements if (match := _CREATED.match(line))}


def find_dangers(statements: Iterable[str], new: frozenset[str] | set[str]) -> set[Danger]:
    """Return the dangers of statements.

    `new` tables have no rows, and no earlier code reads them.
    """
    found = set()
    for statement in statements:
        if _OPAQUE.match(statement):
            found.add(Danger("", "runs a block that this test cannot read"))
        for rules, tables in ((LOCKING, LARGE), (BREAKING, None)):
            for pattern, reason in rules:
                match = pattern.match(statement)
                table = match["table"] if match else ""
                if match and table not in new and (tables is None or table in tables):
                    found.add(Danger(table, reason))
    return found
