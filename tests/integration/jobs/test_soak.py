"""Eight workers on eight machines, and faults at random.

Workers are killed, frozen and cut off for longer than a lease, and the broker is killed. Nothing is
lost or doubled, and the work of a dead worker moves to another one within its lease. The servers
are reached over TCP (`tests.soak`).
"""

from __future__ import annotations

import pytest

from tests.soak.report import check_nothing_lost, describe, find_slowest_move, run_soak

WORKERS = 8
#: Seconds from the end of a lease until a free worker has the stage: a sweep, a message, a claim.
SLACK = 4.0
#: The same where other tests use the processors, too.
BUSY_SLACK = 60.0


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_nothing_is_lost_or_doubled_while_workers_die(tmp_path):
    found = run_soak(tmp_path / "soak.json", "--seconds", "25", "--lease", "6", limit=380)
    print(describe(found))
    check_nothing_lost(found)
    assert found["workers"] == WORKERS
    assert sum(found["faults"].values()) >= 3
    assert find_slowest_move(found) <= found["lease"] + found["sweep"] + BUSY_SLACK
    assert found["rate_of_all"] > 0.5 * WORKERS * found["rate_of_one"]


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_half_an_hour_of_faults_loses_nothing(tmp_path):
    """Eight workers do eight times as much: they do not wait for each other."""
    options = ("--seconds", "1800", "--gap", "8", "--wait", "2", "--lease", "10", "--cases", "60")
    found = run_soak(tmp_path / "soak.json", *options, "--rules", limit=3500)
    print(describe(found))
    check_nothing_lost(found)
    assert found["faults"]["kill"] >= 50
    assert find_slowest_move(found) <= found["lease"] + found["sweep"] + SLACK
    assert found["rate_of_all"] > 0.9 * WORKERS * found["rate_of_one"]
