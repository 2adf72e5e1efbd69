"""Describe a database by counts and heads of chains.

A restored database is compared with the description.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from psycopg import sql

from accounts.audit.chain import chain_faults, current_head
from adjudication.models import Packet
from adjudication.packets.chain.storage import find_head
from adjudication.packets.chain.verification import find_faults, packets_to_verify
from config.backups.errors import BackupError
from config.backups.manifest import Contents
from config.services.roles import OURS

TABLES = f"SELECT relname {OURS} AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1"
CHANGED_NOTES = (
    "SELECT count(*) FROM ehr_note WHERE sha256 <> encode(sha256(convert_to(text, 'UTF8')), 'hex')"
)


@contextmanager
def take_snapshot() -> Iterator[str]:
    """Read one state of the database inside; yield the snapshot's name.

    Another connection can read the same state by that name. Nothing waits for it.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        # It waits for the dump, longer than a server may let others wait.
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        cursor.execute("SELECT pg_export_snapshot()")
        (name,) = cursor.fetchone()
        yield name


def describe_contents() -> Contents:
    """Return the counts, migrations and heads of the database."""
    return Contents(
        rows=count_rows(),
        migrations=find_migrations(),
        audit_head=str(current_head()),
        packet_heads={packet.public_id: _format_head(packet) for packet in Packet.objects.all()},
        server_major=find_server_major(),
    )


def check_contents(wanted: Contents) -> None:
    """Compare the database with what a backup describes.

    Raises BackupError with all differences.
    """
    found = describe_contents()
    tables = sorted(wanted.rows.keys() | found.rows.keys())
    faults = [
        f"{table} has {found.rows.get(table, 0):,} rows instead of {wanted.rows.get(table, 0):,}"
        for table in tables
        if found.rows.get(table) != wanted.rows.get(table)
    ]
    if found.audit_head != wanted.audit_head:
        faults.append("the audit trail ends at another head")
    if found.packet_heads != wanted.packet_heads:
        faults.append("chains of packets end at other heads")
    if faults:
        raise BackupError(f"The restored database differs from the backup: {'; '.join(faults)}.")


def count_rows() -> dict[str, int]:
    """Return the number of rows of each table; partitions count as one."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        names = [name for (name,) in cursor.fetchall()]
        counts = {}
        for name in names:
            cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(name)))
            (counts[name],) = cursor.fetchone()
    return counts


def find_migrations() -> list[str]:
    """Return the applied migrations as "app.name", sorted."""
    applied = MigrationRecorder(connection).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in applied)


def find_server_major() -> int:
    """Return the main version of the server."""
    connection.ensure_connection()
    return int(connection.connection.info.server_version) // 10_000


def find_old_faults() -> list[str]:
    """Return what was wrong already when the backup was made.

    Recomputes the chains of the audit trail and of packets, and the digests of notes.
    """
    faults = [f"audit trail, link {fault.sequence}: {fault.reason}" for fault in chain_faults()]
    for packet in packets_to_verify():
        faults += [f"packet {packet.public_id}: {fault.reason}" for fault in find_faults(packet)]
    with connection.cursor() as cursor:
        cursor.execute(CHANGED_NOTES)
        (count,) = cursor.fetchone()
    return [*faults, *([f"{count:,} notes differ from their SHA-256"] if count else [])]


def _format_head(packet: Packet) -> str:
    sequence, hash_ = find_head(packet)
    return f"{sequence}:{hash_}"
