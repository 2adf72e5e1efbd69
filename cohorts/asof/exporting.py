"""Export what was known at an hour by a policy.

What a line says about its origin is left out, because a reason or a row may be of a later hour.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from accounts.models import User
from cohorts.asof.counting import Question, find_hours
from cohorts.asof.documenting import FirstDocumented, find_documented
from cohorts.asof.states import Basis, Doubt, Passed, Policy, Times, passes
from cohorts.facts.choosing import find_timelines
from cohorts.facts.loading import find_not_happened
from cohorts.models import AsOfReport, ConceptVersion
from cohorts.values import Source
from ehr.models import Encounter
from timelines.exports.actions import start_export
from timelines.formats.lines import CaseLines, Line
from timelines.models import Export, Timeline
from timelines.transfer.lines import load_lines

VIEW = "as_of"
#: The reason of a flagged line.
FLAG = "uncertain at the hour"


def start_as_of_export(
    *, report: AsOfReport, policy: Policy, format: str, with_note_text: bool, by: User
) -> Export:
    """Queue an export of a report's dataset as of its hour.

    Raises ExportRefused.
    """
    values = {
        "name": VIEW,
        "source": report.source,
        "hours": report.hours,
        "after": report.after_id,
        "after_name": report.after.concept.name if report.after else "",
        "basis": policy.basis.value,
        "doubt": policy.doubt.value,
        "later_notes_left_out": policy.later_notes_left_out,
    }
    return start_export(
        dataset=report.dataset,
        run=None,
        format=format,
        with_note_text=with_note_text,
        view=values,
        by=by,
    )


def select_known(cases: Sequence[Encounter], values: Mapping[str, Any]) -> Iterator[CaseLines]:
    """Yield the cases that have the hour, with what the policy includes."""
    if not cases:
        return
    after = ConceptVersion.objects.filter(pk=values["after"]).first()
    source = Source(values["source"])
    dataset = cases[0].dataset
    found = find_timelines(dataset, source, [case.pk for case in cases])
    timelines = {t.encounter_id: t for t in found.select_related("inventory__note")}
    keys = [timeline.pk for timeline in timelines.values()]
    hours = find_hours(Question(dataset, source, values["hours"], after), keys)
    documented = find_documented(keys)
    left_out = set(find_not_happened(keys)) if source is Source.CURATED else set()
    for case in cases:
        if case.pk in hours:
            lines = _select(case, timelines[case.pk], documented, left_out)
            yield CaseLines(case, None, (_pass(lines, _read_policy(values), hours[case.pk]),))


def describe_policy(values: Mapping[str, Any]) -> str:
    """Say hour and policy for the data dictionary."""
    return (
        f"Only what was known {label_hour(values)}, times {Source(values['source']).words}."
        f" {_read_policy(values).words} Bounds end at the hour, and a time after it is empty. Rows,"
        f" evidence and reasons are empty; a flagged line has the reason “{FLAG}”."
    )


def label_hour(values: Mapping[str, Any]) -> str:
    """Return the hour in words."""
    words = f"as of {values['hours']:g} h"
    return f"{words} after {values['after_name'] or 'admission'}"[:150]


def _read_policy(values: Mapping[str, Any]) -> Policy:
    return Policy(
        Basis(values["basis"]), Doubt(values["doubt"]), bool(values["later_notes_left_out"])
    )


def _select(
    case: Encounter,
    timeline: Timeline,
    documented: Mapping[int, FirstDocumented],
    left_out: set[int],
) -> list[tuple[Line, Times]]:
    """Return the lines of a timeline with their times.

    Those that people say did not happen are left out.
    """
    (lines,) = load_lines(case, [timeline]).timelines
    # In the order of `load_lines`.
    entries = timeline.entries.order_by("occurrence__ordinal", "pk").values_list("pk", flat=True)
    return [
        (line, Times(line.time, line.lower, line.upper, first.hours, first.noted))
        for entry, line in zip(entries, lines, strict=True)
        if entry not in left_out and (first := documented[entry])
    ]


def _pass(lines: Sequence[tuple[Line, Times]], policy: Policy, hour: float) -> tuple[Line, ...]:
    """Return what the policy includes, cut at the hour."""
    passed = [(line, passes(policy, times, hour)) for line, times in lines]
    uids = {line.uid4 for line, how in passed if how is not Passed.OUT}
    return tuple(
        replace(
            line,
            time=line.time if line.time is not None and line.time <= hour else None,
            upper=None if line.upper is None else min(line.upper, hour),
            context=tuple(uid for uid in line.context if uid in uids),
            linked=tuple(uid for uid in line.linked if uid in uids),
            evidence=(),
            rows=(),
            near_rows=(),
            reason=FLAG if how is Passed.FLAGGED else "",
        )
        for line, how in passed
        if how is not Passed.OUT
    )
