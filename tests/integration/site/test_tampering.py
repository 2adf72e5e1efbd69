"""Every column that a packet and the trail rest on, changed by SQL.

Rows are deleted and inserted too. The database refuses each change, or `manage.py verify_chain`
reports it: once as anyone who may write to the tables, with triggers on, and once as the database's
owner, past triggers and foreign keys. The exceptions are listed here by name, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from accounts.audit.chain import chain_faults, current_head
from accounts.models import AuditEvent, AuditLink
from adjudication.access.exposure import record_exposure
from adjudication.models import PacketItem, Slot
from adjudication.packets import actions as packets
from adjudication.review import decisions, slots
from tests import factories
from tests.factories import PASSWORD
from tests.integration.review.test_decisions import decide, decide_all
from tests.worlds.reviewing import add_reviewer, draw_review, make_token, open_review

pytestmark = pytest.mark.django_db(transaction=True)

_COMPARED = (
    "SELECT g.comparison_id FROM adjudication_game g JOIN adjudication_finding f ON f.game_id = g.id"
    " JOIN adjudication_packetitem i ON i.finding_id = f.id"
)
#: The rows that matter: of the packet, of the games that its findings come from, and of the trail.
ROWS = {
    "adjudication_packet": "true",
    "adjudication_packetitem": "true",
    "adjudication_assignment": "true",
    "adjudication_decision": "true",
    "adjudication_slot": "purpose = 'review' OR decision_id IS NOT NULL",
    "adjudication_finding": "id IN (SELECT finding_id FROM adjudication_packetitem)",
    "adjudication_game": "id IN (SELECT f.game_id FROM adjudication_finding f JOIN adjudication_packetitem i ON i.finding_id = f.id)",
    "adjudication_comparison": f"id IN ({_COMPARED})",
    "timelines_timeline": f"id IN (SELECT unnest(ARRAY[first_id, second_id]) FROM adjudication_comparison WHERE id IN ({_COMPARED}))",
    "adjudication_judgerun": "true",
    "accounts_auditevent": "true",
    "accounts_auditlink": "true",
}
WORK = "work under way: says nothing of a decision"
DISPLAY = "how the run was done and shown, not what its findings say"
#: What may be changed unnoticed, and why it does not matter.
FREE = {
    ("adjudication_packet", "guess_test"): "a test that admins run on the items, which decides nothing",
    ("adjudication_packet", "due_on"): "an admin may set it while the packet is open, and it decides nothing",
    ("adjudication_assignment", "due_on"): "by when a person should be done, and it decides nothing",
    ("adjudication_assignment", "created_at"): WORK,
    ("adjudication_assignment", "practised_at"): WORK,
    ("adjudication_slot", "lease_expires_at"): WORK,
    ("adjudication_slot", "draft"): WORK,
    ("adjudication_slot", "active_seconds"): "the decision has its own",
    **{("adjudication_finding", name): "copied by a trigger for the list of findings" for name in ("apart", "case", "facet", "run_id")},
    ("timelines_timeline", "protocol"): "the stratum of an imported reference in reports, not what its findings say",
    ("adjudication_finding", "series_id"): "set to null when the record is indexed anew; the finding quotes its row",
    ("timelines_timeline", "created_at"): DISPLAY,
    ("timelines_timeline", "reasoning"): DISPLAY,
    **{("adjudication_judgerun", name): DISPLAY for name in (
        "label", "language_models", "prompt_hashes", "code_revision", "created_by_id", "created_at", "paused_at",
    )},
    **{("adjudication_game", name): "the queue's own, and figures beside the findings" for name in (
        "attempt", "max_attempts", "worker", "fence", "contents", "heartbeat_at", "progress", "lease_expires_at", "hinted_at", "not_before",
        "outages", "reasons", "queued_at", "started_at", "finished_at", "cancel_requested", "unjudged_reasons",
        "series_supplied", "series_omitted", "dropped_findings", "dropped_reasons", "rounds",
    )},
}  # fmt: skip
#: Who has an undecided slot in hand; of a decided one it is watched.
LEASED = ("adjudication_slot", "assignment_id")
#: A judged game has one state and one outcome alone, by a constraint of its row.
CHECKED = {("adjudication_game", "state"), ("adjudication_game", "outcome")}
#: Which side was which: refused with triggers on, not only reported.
SIDES = {
    ("adjudication_game", "a_is_first"), ("adjudication_game", "comparison_id"), ("adjudication_game", "swapped"),
    ("adjudication_game", "seed"), ("adjudication_comparison", "first_id"), ("adjudication_comparison", "second_id"),
    ("timelines_timeline", "source"), ("timelines_timeline", "kind"), ("timelines_timeline", "alternative"),
    ("adjudication_judgerun", "sources"), ("adjudication_packet", "seed"), ("adjudication_packet", "reveal"),
    ("adjudication_packet", "design"), ("adjudication_assignment", "seed"), ("adjudication_assignment", "person_id"),
    ("adjudication_finding", "verdict"), ("adjudication_decision", "answer"), ("accounts_auditevent", "detail"),
}  # fmt: skip
#: New values by type; the first that differs and that the column's own checks accept is taken.
VALUES = {
    "boolean": ["NOT {c}", "true", "false"],
    "ARRAY": ["array_append({c}, 'x')"],
    "jsonb": ["'{{\"x\": 1}}'", "'[]'"],
    "timestamp with time zone": ["coalesce({c} + interval '1 second', now())"],
    "date": ["coalesce({c} + 1, current_date)"],
    "double precision": ["coalesce({c}, 0) + 0.5"],
    "character varying": [
        "'late'", "'VALUE'", "'TIMING'", "'same_event'", "'failed'",
        "'A'", "'B'", "'BOTH'", "'closed'", "'open'", "'never'", "'after_close'", "'adjudicator'", "'reviewer'",
        "'adjudication'", "'review'", "'unjudged'", "'judged'", "'text_only'", "left({c}, 100) || 'x'", "overlay({c} placing 'zz' from 1)",
    ],
    "text": ["{c} || 'x'", "'x'"],
}  # fmt: skip
NUMBER = ["{c} + 1000", "coalesce({c}, 0) + 1", "{c} - 1"]


@dataclass(frozen=True)
class Outcome:
    """The effect of a change.

    `refused` by the database, or `reported` by the command.
    """

    refused: bool
    reported: bool


class _Undo(Exception):
    """Rolls a tampering back."""


@contextmanager
def undo(*, owner: bool) -> Iterator[None]:
    """Open a transaction that is rolled back.

    As the owner, changes pass triggers and foreign keys.
    """
    try:
        with transaction.atomic():
            if owner:
                run("SET LOCAL session_replication_role = replica")
            yield
            raise _Undo
    except _Undo:
        pass


def run(sql: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.rowcount


def verify(*arguments: str) -> str:
    """What the command says; "" if nothing is wrong."""
    out = StringIO()
    try:
        call_command("verify_chain", *arguments, stdout=out)
    except CommandError:
        return out.getvalue()
    return ""


def tamper(*statements: str, owner: bool) -> Outcome:
    """Try it, look, and take it back."""
    outcome = Outcome(True, False)
    try:
        with undo(owner=owner):
            for sql in statements:
                assert run(sql), f"{sql}: no row"
            run("SET CONSTRAINTS ALL IMMEDIATE")
            outcome = Outcome(False, bool(verify()))
    except DatabaseError:
        pass
    return outcome


def columns() -> list[tuple[str, str, str]]:
    """(table, column, type) of all of ROWS, but for the key of the row itself."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_name = ANY(%s) AND column_name <> 'id'"
            " AND table_schema = 'public' ORDER BY table_name, ordinal_position",
            [list(ROWS)],
        )
        return cursor.fetchall()


def keys(table: str) -> list[int]:
    """The rows that matter: the first and the last one in front."""
    key = "sequence" if table == "accounts_auditlink" else "id"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {key} FROM {table} WHERE {ROWS[table]} ORDER BY {key}")
        first, *rest = (row[0] for row in cursor.fetchall())
    return [first, *rest[-1:], *rest[:-1]]


def place(table: str, key: int) -> str:
    return f"{'sequence' if table == 'accounts_auditlink' else 'id'} = {key}"


def changes(table: str, column: str, kind: str, rows: int) -> list[str]:
    """Return a change of the column in so many rows.

    More rows are changed if the checks of those accept no other value.
    """
    found: list[str] = []
    for number, key in enumerate(keys(table)):
        if number >= rows and found:
            break
        values = [value.format(c=f'"{column}"') for value in VALUES.get(kind, NUMBER)]
        statements = (
            f'UPDATE {table} SET "{column}" = {value} WHERE {place(table, key)} AND "{column}" IS DISTINCT FROM {value}'
            for value in values
        )
        found += [sql for sql in statements if possible(sql)][:1]
    return found


def possible(sql: str) -> bool:
    """Return True if the owner's statement changes a row at all.

    The new value must then fit the column's own checks.
    """
    try:
        with undo(owner=True):
            return bool(run(sql))
    except DatabaseError:
        return False


@pytest.fixture
def world():
    """Return a packet with two reviewers.

    One has signed, taken it back and signed again, the other has begun. There are also a closed
    packet and a draft.
    """
    made = open_review(pairings=1, reviewers=2, per_item=2)
    me, other = made.assignments
    record_exposure(user=made.admin, encounters=made.world.encounters, page="findings")
    decide_all(me)
    decisions.sign(assignment=me, password=PASSWORD, by=me.person)
    decisions.unsign(assignment=me, reason="a slip", by=me.person)
    undone_ = decisions.undo(assignment=me, token=make_token(), by=me.person)
    decide(
        me,
        undone_.undone.item,
        "UNCLEAR",
        comment="on second thought",
        own_time=-3.25,
        active_seconds=7.125,
    )
    record_exposure(user=made.admin, encounters=made.world.encounters, page="games file")
    decisions.sign(assignment=me, password=PASSWORD, by=me.person)
    decide(other, made.items[0])
    slots.next_item(assignment=other)
    record_exposure(user=made.admin, encounters=made.world.encounters, page="findings")
    assert verify() == ""
    return made


@pytest.mark.parametrize("rows", [1, pytest.param(9, marks=pytest.mark.deep)])
def test_each_column_of_each_row_is_kept_or_watched(world, rows):
    unnoticed, side_changed, untried = set(), set(), []
    for table, column, kind in columns():
        tried = changes(table, column, kind, rows)
        untried += [] if tried else [(table, column)]
        for sql in tried:
            outcome = tamper(sql, owner=False)
            if (table, column) in SIDES and not outcome.refused:
                side_changed.add((table, column))
            if outcome.refused:
                outcome = tamper(sql, owner=True)
            if not outcome.refused and not outcome.reported:
                unnoticed.add((table, column))
    stored = {(table, column) for table, column, _ in columns()}
    assert stored >= SIDES
    assert sorted(unnoticed - FREE.keys() - {LEASED}) == [], (
        "changed, and neither refused nor reported"
    )
    assert sorted((FREE.keys() & stored) - unnoticed) == [], (
        "listed as free, and is kept or watched"
    )
    assert sorted(side_changed) == [], "which side was which could be changed with triggers on"
    assert set(untried) <= CHECKED, "no other value was tried"


@pytest.mark.parametrize("owner", [False, True])
def test_each_row_that_is_taken_away_is_missed(world, owner):
    for table in ROWS:
        for key in keys(table)[:2]:
            outcome = tamper(f"DELETE FROM {table} WHERE {place(table, key)}", owner=owner)
            assert outcome.refused or (outcome.reported and owner), f"{table}: {key}"


def test_a_third_persons_slot_that_is_taken_away_is_missed_while_two_differ(world):
    """The application itself removes it when one of two changes an answer."""
    me, other = world.assignments
    left = set(me.decisions.filter(answer="A").values_list("item", flat=True))
    left -= set(me.decisions.filter(answer="UNCLEAR").values_list("item", flat=True))
    left -= set(other.decisions.values_list("item", flat=True))
    item = PacketItem.objects.get(pk=min(left))
    decide(other, item, "B")
    slot = Slot.objects.get(item=item, purpose=Slot.Purpose.ADJUDICATION)
    outcome = tamper(f"DELETE FROM adjudication_slot WHERE id = {slot.pk}", owner=False)
    assert outcome.refused or outcome.reported


def test_an_exposure_is_missed_with_its_link_too_unless_it_was_the_last_event(world):
    """The end of the trail is missed by a person who noted its head."""
    *covered, last = (
        AuditEvent.objects.filter(action="case.unblinded")
        .order_by("pk")
        .values_list("pk", flat=True)
    )
    assert len(covered) == 2
    for pk in (*covered, last):
        gone = [
            f"DELETE FROM accounts_auditlink WHERE event_id = {pk}",
            f"DELETE FROM accounts_auditevent WHERE id = {pk}",
        ]
        assert tamper(*gone, owner=False).refused
        assert tamper(*gone, owner=True).reported is (pk != last)


@pytest.mark.parametrize(
    "action", ["packet.draw", "packet.open", "packet.assign", "review.sign", "review.unsign"]
)
def test_packets_and_signatures_need_their_events(world, action):
    """Even if the trail itself were rewritten to be whole without them."""
    event = AuditEvent.objects.filter(action=action).latest("pk")
    with undo(owner=True):
        run(f"DELETE FROM accounts_auditevent WHERE id = {event.pk}")
        rewrite_trail()
        assert chain_faults() == []
        report = verify()
        assert f"{world.packet.public_id}: " in report
        assert "BROKEN" in report


def rewrite_trail() -> None:
    """As an owner would who knows how the chain is made."""
    run("DELETE FROM accounts_auditlink")
    run("""
        DO $$ DECLARE e accounts_auditevent%ROWTYPE; head text := ''; place bigint := 0; BEGIN
            FOR e IN SELECT * FROM accounts_auditevent ORDER BY id LOOP
                head := accounts_audit_hash(head, e); place := place + 1;
                INSERT INTO accounts_auditlink (sequence, event_id, hash) VALUES (place, e.id, head);
            END LOOP;
        END $$ """)


def test_a_trail_rewritten_or_cut_off_is_found_by_a_head_from_before(world):
    noted = current_head()
    first = AuditEvent.objects.filter(action="case.unblinded").earliest("pk")
    with undo(owner=True):
        run(f"DELETE FROM accounts_auditevent WHERE id = {first.pk}")
        rewrite_trail()
        assert chain_faults() == []
        assert "another head was noted there" in verify("--audit-head", str(noted))
        assert "another head was noted there" in verify(), (
            "the signature covers the trail before it"
        )
    with undo(owner=True):
        run(
            f"DELETE FROM accounts_auditevent WHERE id = (SELECT event_id FROM accounts_auditlink WHERE sequence = {noted.sequence})"
        )
        run(f"DELETE FROM accounts_auditlink WHERE sequence = {noted.sequence}")
        assert "another head was noted there" in verify("--audit-head", str(noted))
    assert verify("--audit-head", str(noted)) == ""
    with pytest.raises(CommandError, match="use the form that this command prints"):
        call_command("verify_chain", "--audit-head", "nothing", stdout=StringIO())


def test_a_packet_does_not_leave(world):
    tables = (
        "slot",
        "itemmark",
        "decision",
        "packetitem",
        "practiceanswer",
        "assignment",
        "packet",
    )
    gone = [
        f"DELETE FROM adjudication_{table}"
        for table in tables
        if run(f"SELECT 1 FROM adjudication_{table}")
    ]
    assert tamper(*gone, owner=False).refused
    assert tamper(*gone, owner=True).reported
    assert tamper("UPDATE adjudication_packet SET state = 'draft'", owner=False).refused
    assert tamper("UPDATE adjudication_packet SET state = 'draft'", owner=True).reported


@pytest.mark.parametrize("owner", [False, True])
def test_rows_that_are_put_in_are_noticed(world, owner):
    added = {
        "adjudication_packetitem": "public_id = 'zzzzzzzzzzzz', ordinal = 999, finding_id = (SELECT min(f.id) FROM adjudication_finding f"
        " WHERE f.id NOT IN (SELECT finding_id FROM adjudication_packetitem))",
        "adjudication_decision": "public_id = 'zzzzzzzzzzzz', sequence = 999, token = 'zzz', kind = 'guess', answer = '', amends_id = NULL",
        "adjudication_slot": "number = 9, assignment_id = NULL, decision_id = NULL, lease_expires_at = NULL",
        "adjudication_assignment": "public_id = 'zzzzzzzzzzzz', person_id = (SELECT max(id) FROM accounts_user)",
    }
    for table, values in added.items():
        copy = f"INSERT INTO {table} SELECT (jsonb_populate_record(t, to_jsonb(t) || n.new)).* FROM {table} t, (SELECT jsonb_build_object("
        pairs = [part.split(" = ", 1) for part in values.replace(", ", " ; ").split(" ; ")]
        new = ", ".join(f"'{name}', {value}" for name, value in [("id", "999999"), *pairs])
        outcome = tamper(
            f"{copy}{new}) AS new) n WHERE t.id = (SELECT max(id) FROM {table})", owner=owner
        )
        assert outcome.refused or outcome.reported, table


def test_an_event_past_the_trigger_is_noticed(world):
    with undo(owner=True):
        run(
            "INSERT INTO accounts_auditevent (at, action, object_type, object_id, detail) VALUES (now(), 'case.open', '', '', '{}')"
        )
        assert "has no link" in verify()


def test_drafts_come_and_go_and_are_known(world):
    packet = draw_review(pairings=1)
    add_reviewer(packet)
    assert verify() == ""
    with undo(owner=True):
        for table in ("packetitem", "assignment", "packet"):
            key = "id" if table == "packet" else "packet_id"
            run(f"DELETE FROM adjudication_{table} WHERE {key} = {packet.packet.pk}")
        assert "the packet is in the audit trail but not in the database" in verify()
    packets.delete_draft(packet=packet.packet, by=packet.admin)
    assert verify() == ""


def test_events_inserted_in_bulk_and_rolled_back_leave_a_whole_chain():
    study = factories.make_study()

    def events(count: int) -> list[AuditEvent]:
        return [
            AuditEvent(
                study=study, action="case.unblinded", object_type="ehr.encounter", object_id=f"c{n}"
            )
            for n in range(count)
        ]

    with transaction.atomic():
        AuditEvent.objects.bulk_create(events(300))
        with undo(owner=False):
            AuditEvent.objects.bulk_create(events(7))
        AuditEvent.objects.bulk_create(events(5), batch_size=2)
    with undo(owner=False):
        AuditEvent.objects.bulk_create(events(3))
    assert AuditLink.objects.count() == AuditEvent.objects.count() == 306
    assert chain_faults() == []
