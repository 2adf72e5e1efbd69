"""The application's role reads and writes rows only, which suffices."""

from __future__ import annotations

import psycopg
import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection

from accounts.audit.trail import record
from adjudication.models import Decision, Game
from adjudication.packets import actions as packets
from config.services import embedded
from config.services.paths import APPLICATION_ROLE, DATABASE, OWNER_ROLE, SUPERUSER_ROLE
from ehr.actions import delete_dataset
from ehr.models import SourceRow
from ehr.partitions import ensure_partition, partition_exists
from tests import factories
from tests.paths import DEMO
from tests.worlds.database_roles import connect_as_application, manage
from tests.worlds.judged import make_judged_world
from tests.worlds.reconstructed import import_folder, run_inline
from tests.worlds.reviewed import build_open_world, decide_all, uphold_finding
from timelines.models import Entry

DELETE = "from ehr.models import Dataset; from ehr.actions import delete_dataset; delete_dataset(dataset=Dataset.objects.get(), by=None)"
#: Read and write rows; a view of the owner's rights would need a line here.
WANTED = {"SELECT", "INSERT", "UPDATE", "DELETE"}
REFUSED = {"TRUNCATE", "REFERENCES", "TRIGGER", "MAINTAIN"}
RELATIONS = """
    SELECT relname, relkind FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
    WHERE nspname = 'public' AND relkind IN ('r', 'p', 'v', 'm', 'S') AND NOT relispartition ORDER BY 1
"""
ATTACKS = [
    "ALTER TABLE accounts_auditevent DISABLE TRIGGER ALL",
    "ALTER TABLE accounts_auditevent DISABLE TRIGGER accounts_audit_no_change",
    "ALTER TABLE accounts_auditevent DROP COLUMN detail",
    "ALTER TABLE accounts_auditevent OWNER TO CURRENT_USER",
    "DROP TRIGGER accounts_audit_no_change ON accounts_auditevent",
    "DROP TABLE accounts_auditevent CASCADE",
    "TRUNCATE accounts_auditevent",
    "TRUNCATE ehr_note CASCADE",
    "UPDATE accounts_auditevent SET action = 'other'",
    "DELETE FROM accounts_auditevent",
    "INSERT INTO django_migrations (app, name, applied) VALUES ('ehr', 'x', now())",
    "UPDATE django_migrations SET name = 'x'",
    "DELETE FROM django_migrations",
    "CREATE TABLE mine (id integer)",
    "CREATE TEMPORARY TABLE adjudication_packet (id integer)",
    "CREATE FUNCTION mine() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    "CREATE OR REPLACE FUNCTION accounts_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    "CREATE SCHEMA mine",
    "CREATE EXTENSION hstore",
    "CREATE INDEX ON accounts_auditevent (action)",
    "SELECT setval(pg_get_serial_sequence('accounts_auditevent', 'id'), 1)",
    "SELECT ehr_add_partition(1000000)",
    "SET session_replication_role = replica",
    f"SET ROLE {OWNER_ROLE}",
    f"SET ROLE {SUPERUSER_ROLE}",
    f"SET SESSION AUTHORIZATION {OWNER_ROLE}",
    f"GRANT {OWNER_ROLE} TO CURRENT_USER",
    "ALTER ROLE CURRENT_USER SUPERUSER",
    "CREATE ROLE mine",
    "CREATE DATABASE mine",
    "ALTER SYSTEM SET log_statement = 'all'",
    "SELECT rolpassword FROM pg_authid",
    "COPY (SELECT 1) TO PROGRAM 'cat'",
    "COPY (SELECT 1) TO '/tmp/occurrent-mine'",
    "COPY accounts_study (name) FROM '/etc/passwd'",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_ls_dir('.')",
    "SELECT lo_import('/etc/passwd')",
]
REFUSAL = r"permission denied|must be owner|append-only|no dataset"


@pytest.fixture
def application(transactional_db):
    with connect_as_application():
        yield


@pytest.mark.parametrize("statement", ATTACKS)
def test_the_application_cannot(application, statement):
    record(actor=None, study=None, action="case.open")
    with pytest.raises(DatabaseError, match=REFUSAL):
        connection.cursor().execute(statement)


def test_no_partition_of_a_dataset_that_is_there_can_be_dropped(application):
    dataset = factories.make_dataset()
    ensure_partition(dataset.pk)
    for statement in (
        f"SELECT ehr_drop_partition({dataset.pk})",
        f"DROP TABLE ehr_sourcerow_d{dataset.pk}",
    ):
        with pytest.raises(DatabaseError, match=r"is still there|must be owner"):
            connection.cursor().execute(statement)
    assert partition_exists(dataset.pk)


def test_the_application_may_read_and_write_the_rows_of_every_table_and_nothing_else(application):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_user, rolsuper, rolcreatedb, rolcreaterole, rolbypassrls FROM pg_roles WHERE rolname = current_user"
        )
        assert cursor.fetchall() == [(APPLICATION_ROLE, False, False, False, False)]
        cursor.execute("SELECT count(*) FROM pg_auth_members WHERE member = current_user::regrole")
        assert cursor.fetchone() == (0,)
        cursor.execute(
            "SELECT has_database_privilege(current_database(), p) FROM unnest(ARRAY['CREATE', 'TEMPORARY']) p"
        )
        assert cursor.fetchall() == [(False,), (False,)]
        cursor.execute("SELECT count(*) FROM pg_class WHERE relowner = current_user::regrole")
        assert cursor.fetchone() == (0,)
        cursor.execute(RELATIONS)
        relations = cursor.fetchall()
        assert len([name for name, kind in relations if kind == "r"]) > 30
        for name, kind in relations:
            wanted = {"S": {"USAGE"}}.get(
                kind, {"SELECT"} if name == "django_migrations" else WANTED
            )
            asked = ["USAGE", "SELECT", "UPDATE"] if kind == "S" else sorted(WANTED | REFUSED)
            function = "has_sequence_privilege" if kind == "S" else "has_table_privilege"
            cursor.execute(
                f"SELECT p FROM unnest(%s::text[]) p WHERE {function}(%s, p)", [asked, name]
            )
            assert {found for (found,) in cursor.fetchall()} == wanted, name


def test_import_run_judge_review_and_delete_work(application):
    dataset = import_folder(DEMO / "intro", name="intro")
    run = run_inline(dataset)
    assert Entry.objects.filter(timeline__inventory__run=run).exists()
    world = build_open_world(make_judged_world(1), reviewers=1)
    [reviewer] = world.reviewers
    assert decide_all(world, reviewer, uphold_finding) == Decision.objects.count() > 0
    packets.close_packet(packet=world.packet, by=world.admin)
    assert Game.objects.exists()
    delete_dataset(dataset=dataset, by=None)
    assert not partition_exists(dataset.pk)
    assert not SourceRow.objects.filter(dataset_id=dataset.pk).exists()


def test_migrate_in_a_process_of_the_application_changes_the_role_and_changes_it_back(application):
    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone() == (APPLICATION_ROLE,)


def old_installation(paths):
    """Turn the installation into one of the previous version.

    That version has one role, a superuser, which owns everything and is the only one let in.
    """
    embedded.ensure_running(paths, ["postgres"])
    with psycopg.connect(
        paths.build_database_url(SUPERUSER_ROLE, "postgres"), autocommit=True
    ) as superuser:
        superuser.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")
        for role in (APPLICATION_ROLE, OWNER_ROLE):
            superuser.execute(f"DROP ROLE {role}")
        superuser.execute(f"CREATE DATABASE {DATABASE}")
        access = paths.postgres_data / "pg_ident.conf"
        access.write_text(access.read_text().splitlines()[0] + "\n")
        superuser.execute("SELECT pg_reload_conf()")
    url = paths.build_database_url(SUPERUSER_ROLE)
    for arguments in (
        ["migrate", "--verbosity", "0"],
        ["import_dataset", "--format", "cases", "--path", str(DEMO / "intro"), "--name", "intro"],
    ):
        result = manage(paths, *arguments, DATABASE_URL=url)
        assert result.returncode == 0, result.stderr


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("stopped", [False, True])
def test_data_of_the_version_before_is_taken_over(private_services, stopped):
    old_installation(private_services)
    if stopped:
        embedded.stop(private_services)
    result = manage(private_services, "migrate", "--verbosity", "0")
    assert result.returncode == 0, result.stderr
    with psycopg.connect(private_services.database_url) as application:
        assert application.execute(
            "SELECT current_user, count(*) > 0 FROM ehr_sourcerow"
        ).fetchall() == [(APPLICATION_ROLE, True)]
        owners = """
            SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class WHERE relnamespace = 'public'::regnamespace
            UNION SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()
            UNION SELECT pg_get_userbyid(proowner) FROM pg_proc WHERE prosecdef AND pronamespace = 'public'::regnamespace
        """
        assert application.execute(owners).fetchall() == [(OWNER_ROLE,)]
    script = (
        "from ehr.models import Dataset; from ehr.actions import delete_dataset; "
        "delete_dataset(dataset=Dataset.objects.get(), by=None)"
    )
    result = manage(private_services, "shell", "--no-imports", "--command", script)
    assert result.returncode == 0, result.stderr


@pytest.mark.deep
@pytest.mark.slow
def test_an_external_database_may_have_one_role_or_two(private_services):
    paths = private_services
    embedded.ensure_running(paths)
    with psycopg.connect(
        paths.build_database_url(SUPERUSER_ROLE, "postgres"), autocommit=True
    ) as superuser:
        superuser.execute(f"CREATE DATABASE external OWNER {OWNER_ROLE}")
    owner, broker = (
        paths.build_database_url(OWNER_ROLE, "external"),
        {"BROKER_URL": paths.broker_url},
    )
    clerk = paths.build_database_url("clerk:secret", "external")

    one = manage(paths, "migrate", "--verbosity", "0", DATABASE_URL=owner, **broker)
    assert one.returncode == 0, one.stderr
    said = manage(paths, "check", "--database", "default", DATABASE_URL=owner, **broker)
    assert (
        said.returncode,
        "The database role of the application owns its tables." in said.stderr,
    ) == (0, True), said.stderr

    two = {"DATABASE_URL": clerk, "DATABASE_OWNER_URL": owner, **broker}
    missing = manage(paths, "migrate", "--verbosity", "0", **two)
    assert missing.returncode == 1
    assert "CommandError: The role clerk of DATABASE_URL does not exist" in missing.stderr
    assert "secret" not in missing.stderr

    with psycopg.connect(
        paths.build_database_url(SUPERUSER_ROLE, "external"), autocommit=True
    ) as superuser:
        superuser.execute(f"ALTER ROLE {OWNER_ROLE} CREATEROLE")
        made = manage(paths, "migrate", "--verbosity", "0", **two)
        assert (made.returncode, made.stderr) == (0, "")
        [(password,)] = superuser.execute(
            "SELECT rolpassword FROM pg_authid WHERE rolname = 'clerk' AND NOT rolsuper"
        ).fetchall()
        assert password.startswith("SCRAM-SHA-256$")
        privileges = "SELECT has_table_privilege('clerk', 'ehr_note', p) FROM unnest(ARRAY['INSERT', 'TRUNCATE']) p"
        assert superuser.execute(privileges).fetchall() == [(True,), (False,)]
