"""`manage.py judge_planted`: a judge's recall and precision.

The differences were put into twins of stored timelines.
"""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from adjudication.domain import FindingType
from adjudication.judging.input import Judged, JudgeInput
from adjudication.judging.validation import validate_findings
from adjudication.management.commands import judge_planted
from tests import factories
from tests.unit.adjudication.judging.judge_games import make_raw
from tests.worlds.judged import make_case

pytestmark = pytest.mark.django_db(transaction=True)


class FindsTimes:
    """Reports only rows of one UID whose hours differ.

    It judges the first timeline right.
    """

    name, version = "times", "1"

    def judge(self, given: JudgeInput):
        first, second = (
            (given.a_rows, given.b_rows) if given.a_is_first else (given.b_rows, given.a_rows)
        )
        by_uid = {r.uid: r for r in second}
        apart = [
            (r, by_uid[r.uid])
            for r in first
            if r.uid in by_uid and abs((r.time or 0) - (by_uid[r.uid].time or 0)) > 10
        ]
        raw = [make_raw(given, FindingType.TIMING, a, b, "FIRST") for a, b in apart]
        return Judged(tuple(validate_findings(raw, given)), len(given.series))


def run(**options):
    out, messages = StringIO(), StringIO()
    call_command("judge_planted", stdout=out, stderr=messages, **options)
    return out.getvalue(), messages.getvalue()


def test_what_was_planted_and_found_is_counted_by_difference(monkeypatch):
    dataset = factories.make_dataset(name="cohort")
    make_case(dataset, "one")
    monkeypatch.setattr(judge_planted, "build_judge", lambda *args, **options: FindsTimes())
    table, messages = run(dataset="cohort", source="author:vega@revised", each=1)
    assert table.splitlines()[0].split()[-2:] == ["original", "right"]
    assert "one: 6 changes, 2 findings" in messages
    timing = next(
        line.split() for line in table.splitlines() if line.startswith("timing") and " all " in line
    )
    # timing all: planted found recall reported true precision decided right; each one that is found
    # judges the original right.
    planted, found, _, told_count, true, precision, decided, right = timing[2:]
    assert int(found) <= int(planted)
    assert int(true) == int(found) == int(told_count)
    assert (precision, decided, right) == ("1.000", "1.000", "1.000")
    quiet = next(
        line.split()
        for line in table.splitlines()
        if line.startswith("shifted within the tolerance")
    )
    assert quiet[-3:] == ["1", "0", "no"]


def test_a_source_that_is_not_there_is_refused():
    dataset = factories.make_dataset(name="cohort")
    make_case(dataset, "one")
    with pytest.raises(CommandError, match="no timeline has the source 'reference'"):
        run(dataset="cohort")


def test_what_was_asked_about_a_twin_goes_with_its_dataset():
    dataset = factories.make_dataset()
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO llm_runtime_modelrequesttext (sha256, body) VALUES ('a', '{}')")
        cursor.execute(
            "INSERT INTO llm_runtime_modelcall (public_id, owner_type, owner_id, role, model, endpoint, prompt, prompt_sha256,"
            " request_sha256, part, covers, parameters, attempt, reused, seconds, finish_reason, outcome, reasons, created_at)"
            " VALUES ('x', %s, %s, 'judge', 'm', '', 'p', 'h', 'a', '', '{}', '{}', 1, false, 0, '', 'unavailable', '{}', now())",
            [judge_planted.CALLS_OWNER, dataset.public_id],
        )
        dataset.delete()
        cursor.execute("SELECT count(*) FROM llm_runtime_modelcall")
        assert cursor.fetchone() == (0,)


@pytest.mark.parametrize("each", [0, -1])
def test_no_changes_at_all_are_refused(each):
    with pytest.raises(CommandError, match="--each must be at least 1"):
        run(dataset="cohort", each=each)
