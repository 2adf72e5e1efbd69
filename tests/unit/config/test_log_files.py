"""Logs of processes that never end stay small."""

import pytest

from config.services.log_files import COPIES, rotate


@pytest.fixture
def log(tmp_path):
    return tmp_path / "worker.log"


def test_a_small_or_missing_log_is_left_alone(log):
    assert not rotate(log, largest=10)
    log.write_bytes(b"0123456789")
    assert not rotate(log, largest=10)
    assert [path.name for path in log.parent.iterdir()] == ["worker.log"]


def test_the_writer_goes_on_at_the_beginning_of_the_emptied_file(log):
    with log.open("ab", buffering=0) as writer:
        writer.write(b"an old line\n")
        assert rotate(log, largest=5)
        writer.write(b"new\n")
    assert log.read_bytes() == b"new\n"
    assert log.with_name("worker.log.1").read_bytes() == b"an old line\n"
    assert log.with_name("worker.log.1").stat().st_mode & 0o777 == 0o600


def test_the_oldest_copies_go(log):
    for number in range(COPIES + 2):
        log.write_text(f"round {number}\n")
        assert rotate(log, largest=1)
    copies = {path.name: path.read_text() for path in log.parent.glob("worker.log.*")}
    assert copies == {
        "worker.log.1": "round 4\n",
        "worker.log.2": "round 3\n",
        "worker.log.3": "round 2\n",
    }
