"""Anchors outside the database show that its owner rewrote history.

The owner switches triggers off and computes every hash again, so that the database alone shows
nothing (docs/adr/0071-anchors.md).
"""

from __future__ import annotations

import stat
import subprocess
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from accounts.audit.chain import chain_faults
from accounts.audit.trail import record
from adjudication.anchors.actions import anchor_chains
from adjudication.anchors.files import read_lines
from adjudication.anchors.lines import Anchor, line_digest
from adjudication.chain import link_hash
from adjudication.models import Decision, Packet
from adjudication.packets.chain.storage import build_payload
from adjudication.packets.chain.verification import find_faults
from adjudication.tasks import anchor as anchor_task
from tests.integration.review.test_decisions import decide
from tests.worlds.reviewing import Review, open_review
from tests.worlds.time_stamps import NEEDS_OPENSSL, make_authority, serve_time_stamps

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def files(settings, tmp_path) -> Path:
    """Return the folder of this test's anchor file and key."""
    settings.ANCHOR_FILE = tmp_path / "anchors" / "anchors.jsonl"
    settings.ANCHOR_KEY_FILE = tmp_path / "keys" / "key.pem"
    return tmp_path


def verify(*arguments: str) -> str:
    """Return what the command prints, with the number of faults last."""
    out = StringIO()
    try:
        call_command("verify_chain", *arguments, stdout=out)
    except CommandError as error:
        return f"{out.getvalue()}{error}"
    return f"{out.getvalue()}no faults"


def write(path: Path, lines: list[bytes]) -> None:
    path.write_bytes(b"".join(line + b"\n" for line in lines))


def add_event(number: int) -> None:
    record(actor=None, study=None, action="case.open", detail={"number": number})


def anchor_events(count: int) -> list[Anchor]:
    """Return anchors of a trail that grows by one event before each."""
    made = []
    for number in range(1, count + 1):
        add_event(number)
        made.append(anchor_chains())
    return [anchor for anchor in made if anchor is not None]


def run_as_owner(*statements: str) -> None:
    """As the owner, past triggers and foreign keys."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        for statement in statements:
            cursor.execute(statement)


def link_trail_again() -> None:
    """Compute every hash of the audit trail again, as the owner can."""
    run_as_owner(
        """
        DO $$
        DECLARE
            one record;
            previous text := '';
        BEGIN
            FOR one IN SELECT l.sequence, e AS event FROM accounts_auditlink l
                JOIN accounts_auditevent e ON e.id = l.event_id ORDER BY l.sequence
            LOOP
                previous := accounts_audit_hash(previous, one.event);
                UPDATE accounts_auditlink SET hash = previous WHERE sequence = one.sequence;
            END LOOP;
        END $$
        """
    )


def link_packet_again(review: Review, changed: int) -> None:
    """Change a decision's comment, and compute the chain again."""
    previous = ""
    for link in Decision.objects.filter(packet=review.packet).order_by("sequence"):
        link.comment = "forged" if link.sequence == changed else link.comment
        link.previous_hash = previous
        previous = link_hash(build_payload(link), previous)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute(
                "UPDATE adjudication_decision SET comment = %s, previous_hash = %s, hash = %s"
                " WHERE id = %s",
                [link.comment, link.previous_hash, previous, link.pk],
            )
            cursor.execute(
                "UPDATE adjudication_packet SET chain_head = %s WHERE id = %s",
                [previous, review.packet.pk],
            )


def test_an_anchor_is_one_line_with_the_heads_and_a_private_key_of_its_own(settings):
    [first, second] = anchor_events(2)
    lines = settings.ANCHOR_FILE.read_bytes().splitlines()
    assert [Anchor.model_validate_json(line) for line in lines] == [first, second]
    assert (first.sequence, second.sequence) == (1, 2)
    assert (first.trail[0], second.trail[0]) == (1, 2)
    assert (first.previous, second.previous) == ("", line_digest(lines[0]))
    assert first.is_signed()
    assert second.is_signed()
    for path in (settings.ANCHOR_FILE, settings.ANCHOR_KEY_FILE):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nothing_is_appended_while_no_head_changes(settings):
    assert anchor_chains() is None
    assert len(anchor_events(1)) == 1
    assert anchor_chains() is None
    assert len(read_lines(settings.ANCHOR_FILE)) == 1


def test_an_anchor_names_the_packets_with_new_links_only():
    review = open_review(pairings=1)
    decide(review.assignments[0], review.items[0])
    first = anchor_chains()
    assert first is not None
    assert first.packets == {
        review.packet.public_id: (1, Decision.objects.get(sequence=1).hash),
    }
    add_event(1)
    second = anchor_chains()
    assert second is not None
    assert second.packets == {}
    assert verify().endswith("whole\nno faults")


def test_a_rewritten_trail_that_is_whole_in_itself_breaks_the_first_anchor_after_the_change():
    anchors = anchor_events(4)
    run_as_owner("""UPDATE accounts_auditevent SET detail = '{"number": 9}'
        WHERE id = (SELECT event_id FROM accounts_auditlink WHERE sequence = 2)""")
    link_trail_again()
    assert chain_faults() == []
    said = verify()
    assert "audit trail: 4 links" in said
    assert "anchor 1:" not in said
    named = [line for line in said.splitlines() if line.startswith("anchor ")]
    assert named[0] == (
        "anchor 2: link 2 of the audit trail has another hash, which was anchored at"
        f" {anchors[1].at}"
    )
    assert said.endswith("3 faults")


def test_a_shortened_trail_is_found():
    anchor_events(3)
    run_as_owner(
        "DELETE FROM accounts_auditevent WHERE id = (SELECT event_id FROM accounts_auditlink"
        " WHERE sequence = 3)",
        "DELETE FROM accounts_auditlink WHERE sequence = 3",
    )
    assert chain_faults() == []
    assert "anchor 3: link 3 of the audit trail is missing, which was anchored at" in verify()


def test_a_rewritten_decision_is_found_before_anyone_signed():
    review = open_review(pairings=1)
    for item in review.items[:2]:
        decide(review.assignments[0], item)
        anchor_chains()
    link_packet_again(review, changed=2)
    packet = Packet.objects.get(pk=review.packet.pk)
    assert find_faults(packet) == []
    said = verify()
    assert f"anchor 2: link 2 of packet {packet.public_id} has another hash" in said
    assert said.endswith("1 fault")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: [lines[0], lines[2]], "anchor 2: it does not follow the line before it"),
        (lambda lines: lines[1:], "anchor 1: its number is 2"),
        (
            lambda lines: [lines[0].replace(b'"at":"2', b'"at":"1'), *lines[1:]],
            "anchor 1: its signature does not match its content",
        ),
        (
            lambda lines: [*lines[:1], b'{"sequence": 2', *lines[2:]],
            "anchor 2: is no anchor: ",
        ),
        (
            lambda lines: [*lines[:2], lines[2].replace(b'"sequence"', b'"secret"')],
            "anchor 3: is no anchor: sequence missing",
        ),
    ],
)  # fmt: skip
def test_a_changed_file_is_found(settings, change, said):
    anchor_events(3)
    lines = settings.ANCHOR_FILE.read_bytes().splitlines()
    write(settings.ANCHOR_FILE, change(lines))
    assert said in verify()


def test_a_file_signed_again_with_another_key_is_found_and_an_earlier_key_can_be_named(
    settings, files
):
    anchor_events(1)
    settings.ANCHOR_KEY_FILE = files / "other.pem"
    add_event(2)
    second = anchor_chains()
    assert second is not None
    first = read_lines(settings.ANCHOR_FILE)[0].anchor
    assert first is not None
    assert f"anchor 1: it is signed with another key, {first.key}" in verify()
    assert verify("--anchor-key", first.key).endswith("no faults")


def test_a_file_that_is_gone_is_found_and_a_copy_of_it_can_be_verified(settings, files):
    anchor_events(2)
    copy = files / "copy.jsonl"
    settings.ANCHOR_FILE.rename(copy)
    assert "anchors: none, but there is a key" in verify()
    said = verify("--anchor-file", str(copy))
    assert "anchors: 2 lines, 0 with time stamps, last at " in said
    assert said.endswith("no faults")


def test_without_anchors_there_is_nothing_to_compare():
    add_event(1)
    assert verify().endswith("anchors: none\nno faults")


def test_a_torn_line_is_named_and_the_next_anchor_begins_a_new_one(settings):
    anchor_events(2)
    settings.ANCHOR_FILE.write_bytes(settings.ANCHOR_FILE.read_bytes()[:-20])
    add_event(3)
    third = anchor_chains()
    assert third is not None
    assert third.sequence == 3
    said = verify()
    assert "anchor 2: is no anchor" in said
    assert said.endswith("1 fault")


def test_after_a_restored_backup_lost_links_are_no_faults_but_earlier_ones_are():
    anchor_events(3)
    run_as_owner(
        "DELETE FROM accounts_auditevent WHERE id = (SELECT event_id FROM accounts_auditlink"
        " WHERE sequence = 3)",
        "DELETE FROM accounts_auditlink WHERE sequence = 3",
    )
    assert verify().endswith("1 fault")
    call_command("anchor_chain", "--restored", "disk of 3 March", stdout=StringIO())
    add_event(4)
    anchor_chains()
    assert verify().endswith("no faults")
    run_as_owner("""UPDATE accounts_auditevent SET detail = '{"number": 9}'
        WHERE id = (SELECT event_id FROM accounts_auditlink WHERE sequence = 2)""")
    link_trail_again()
    said = verify()
    assert "anchor 1:" not in said
    assert "anchor 2: link 2 of the audit trail has another hash" in said
    assert "anchor 3:" not in said


def test_the_command_prints_the_key_and_says_if_nothing_changed(settings):
    add_event(1)
    out = StringIO()
    call_command("anchor_chain", stdout=out)
    anchor = read_lines(settings.ANCHOR_FILE)[0].anchor
    assert anchor is not None
    assert out.getvalue() == (
        f"anchor 1: audit trail 1:{anchor.trail[1]}, packets with new links: 0, without time stamp\n"
        f"public key: {anchor.key}\n"
    )
    call_command("anchor_chain", stdout=out)
    assert "no chain changed since the last line" in out.getvalue()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not an Ed25519 key"),
        (
            b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            "is not an Ed25519 key",
        ),
    ],
)
def test_a_key_that_is_none_is_refused_with_the_fix(settings, content, said):
    settings.ANCHOR_KEY_FILE.parent.mkdir()
    settings.ANCHOR_KEY_FILE.write_bytes(content)
    add_event(1)
    with pytest.raises(CommandError, match=said):
        call_command("anchor_chain", stdout=StringIO())
    assert read_lines(settings.ANCHOR_FILE) == []


def test_files_that_cannot_be_used_are_named_and_the_task_logs_it(settings, files, caplog):
    settings.ANCHOR_FILE = files / "folder"
    settings.ANCHOR_FILE.mkdir()
    with pytest.raises(CommandError, match=r"folder cannot be used as file of anchors \(Is a dir"):
        call_command("anchor_chain", stdout=StringIO())
    with pytest.raises(CommandError, match="folder cannot be used as file of anchors"):
        call_command("verify_chain", stdout=StringIO())
    anchor_task()
    assert "the chains were not anchored" in caplog.text


def test_a_line_is_mailed_where_an_address_is_set(settings, mailoutbox):
    settings.EMAIL_HOST, settings.ANCHOR_EMAIL = "smtp.example.org", ["trust@example.org"]
    [anchor] = anchor_events(1)
    [mail] = mailoutbox
    assert (mail.subject, mail.to) == ("Occurrent: anchor 1", ["trust@example.org"])
    assert Anchor.model_validate_json(mail.body) == anchor


def test_an_anchor_is_written_though_mail_and_time_stamps_are_away(settings, caplog):
    settings.EMAIL_HOST, settings.ANCHOR_EMAIL = "127.0.0.1", ["trust@example.org"]
    settings.EMAIL_BACKEND, settings.EMAIL_PORT = "django.core.mail.backends.smtp.EmailBackend", 9
    settings.ANCHOR_TSA_URL = "http://127.0.0.1:9/tsr"
    [anchor] = anchor_events(1)
    assert anchor.stamp == ""
    assert "anchor 1 has no time stamp: the time-stamping authority did not answer" in caplog.text
    assert "anchor 1 was not mailed: ConnectionRefusedError" in caplog.text
    assert verify().endswith("no faults")


@NEEDS_OPENSSL
def test_a_time_stamp_of_an_authority_is_stored_and_verified(settings, files):
    settings.ANCHOR_TSA_CERTIFICATES_FILE = make_authority(files / "tsa")
    with serve_time_stamps(files / "tsa") as url:
        settings.ANCHOR_TSA_URL = url
        anchors = anchor_events(2)
    assert all(anchor.stamp for anchor in anchors)
    said = verify()
    assert "anchors: 2 lines, 2 with time stamps" in said
    assert said.endswith("no faults")

    other = make_authority(files / "other")
    settings.ANCHOR_TSA_CERTIFICATES_FILE = other
    assert "anchor 1: its time stamp is of other content, or of no authority" in verify()
    settings.ANCHOR_TSA_CERTIFICATES_FILE = files / "tsa" / "root.pem"
    swapped = anchors[0].model_copy(update={"stamp": anchors[1].stamp}).as_line()
    write(settings.ANCHOR_FILE, [swapped])
    assert "anchor 1: its time stamp is of other content" in verify()


@NEEDS_OPENSSL
def test_a_stamp_of_another_authority_or_of_another_request_is_not_stored(settings, files, caplog):
    make_authority(files / "tsa")
    settings.ANCHOR_TSA_CERTIFICATES_FILE = make_authority(files / "other")
    with serve_time_stamps(files / "tsa") as url:
        settings.ANCHOR_TSA_URL = url
        [anchor] = anchor_events(1)
    assert anchor.stamp == ""
    assert "of no authority in ANCHOR_TSA_CERTIFICATES_FILE" in caplog.text


@NEEDS_OPENSSL
def test_openssl_verifies_a_stored_stamp_on_its_own(settings, files):
    root = make_authority(files / "tsa")
    with serve_time_stamps(files / "tsa") as url:
        settings.ANCHOR_TSA_URL = url
        [anchor] = anchor_events(1)
    import base64

    (files / "stamp.tsr").write_bytes(base64.b64decode(anchor.stamp))
    (files / "data").write_bytes(anchor.stamped_bytes())
    command = ["openssl", "ts", "-verify", "-in", "stamp.tsr", "-data", "data", "-CAfile", root]
    done = subprocess.run(command, cwd=files, check=False, capture_output=True, text=True)
    assert "Verification: OK" in done.stdout + done.stderr
