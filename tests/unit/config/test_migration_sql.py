"""The reader of migrations sees dangerous statements, no harmless ones."""

import pytest

from tests.support.migration_sql import Danger, find_created, find_dangers, split_statements

ENTRY = "timelines_entry"
DANGEROUS = [
    ('CREATE INDEX "x" ON "timelines_entry" ("a")', "builds an index"),
    ('CREATE UNIQUE INDEX "x" ON timelines_entry ("a")', "builds an index"),
    ('ALTER TABLE "timelines_entry" ALTER COLUMN "a" TYPE bigint', "rewrites it"),
    ('ALTER TABLE "timelines_entry" ADD COLUMN "a" uuid DEFAULT random() NULL', "rewrites it"),
    (
        'ALTER TABLE "timelines_entry" ADD COLUMN "a" text GENERATED ALWAYS AS (b) STORED',
        "rewrites it",
    ),
    ('ALTER TABLE "timelines_entry" ALTER COLUMN "a" SET NOT NULL', "reads all rows"),
    ('ALTER TABLE "timelines_entry" ADD CONSTRAINT "c" CHECK (a > 0)', "reads all rows"),
    (
        'ALTER TABLE "timelines_entry" ADD COLUMN "a" bigint NULL CONSTRAINT "f" REFERENCES "t" ("id")',
        "reads all rows",
    ),
    ("UPDATE timelines_entry SET a = 1", "changes rows"),
    ("DELETE FROM timelines_entry", "changes rows"),
    ('ALTER TABLE "timelines_entry" DROP COLUMN "a"', "running code reads this column"),
    ('ALTER TABLE "timelines_entry" RENAME COLUMN "a" TO "b"', "running code reads this column"),
    ('DROP TABLE "timelines_entry" CASCADE', "running code reads this table"),
    (
        'ALTER TABLE "timelines_entry" ALTER COLUMN "a" DROP DEFAULT',
        "running code inserts without this column",
    ),
    (
        'ALTER TABLE "timelines_entry" ADD COLUMN "a" integer NOT NULL',
        "running code inserts without this column",
    ),
]
HARMLESS = [
    'CREATE INDEX CONCURRENTLY "x" ON "timelines_entry" ("a")',
    'ALTER TABLE "timelines_entry" ADD COLUMN "a" smallint DEFAULT 1 NOT NULL',
    'ALTER TABLE "timelines_entry" ADD COLUMN "a" text NULL',
    'ALTER TABLE "timelines_entry" ADD CONSTRAINT "c" CHECK (a > 0) NOT VALID',
    'ALTER TABLE "timelines_entry" VALIDATE CONSTRAINT "c"',
    'ALTER TABLE "timelines_entry" ADD CONSTRAINT "c" UNIQUE USING INDEX "x"',
    "COMMENT ON TABLE timelines_entry IS 'x'",
]


@pytest.mark.parametrize(("statement", "reason"), DANGEROUS)
def test_a_dangerous_statement_is_seen(statement, reason):
    assert Danger(ENTRY, reason) in find_dangers([statement], set())
    assert find_dangers([statement], {ENTRY}) == set()


@pytest.mark.parametrize("statement", HARMLESS)
def test_a_harmless_statement_is_let_through(statement):
    assert find_dangers([statement], set()) == set()


def test_a_small_table_may_be_locked_but_not_changed_under_running_code():
    assert find_dangers(['CREATE INDEX "x" ON "accounts_study" ("a")'], set()) == set()
    assert find_dangers(['DROP TABLE "accounts_study"'], set()) == {
        Danger("accounts_study", "running code reads this table")
    }


def test_bodies_of_functions_and_comments_are_no_statements():
    text = """
        -- UPDATE timelines_entry SET a = 1;
        CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN UPDATE timelines_entry SET a = 1; RETURN NULL; END $$;
        CREATE TABLE "timelines_new" (id bigint);
    """
    statements = list(split_statements([text]))
    assert len(statements) == 2
    assert find_created(statements) == {"timelines_new"}
    assert find_dangers(statements, set()) == set()


def test_a_block_must_be_explained():
    assert find_dangers(split_statements(["DO $$ BEGIN NULL; END $$"]), set()) == {
        Danger("", "runs a block that this test cannot read")
    }
