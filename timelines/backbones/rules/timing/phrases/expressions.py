"""The grammar of time expressions: find and interpret, do not resolve.

"late morning HD#2" is a point: hospital day 2 with the part of the day. "two hours after
intubation" is an offset from something named. "3-day history" is a span. Resolution against a
cursor, the anchor and other occurrences happens elsewhere; here only strings are examined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from timelines.backbones.rules.timing.phrases.daypart import find_part
from timelines.backbones.rules.timing.phrases.grammar.amounts import (
    find_ages,
    find_ages_of_conditions,
    find_offsets,
    find_spans,
)
from timelines.backbones.rules.timing.phrases.grammar.clocks import (
    find_clocks,
    find_hours_past,
    find_parts,
    find_plain_clocks,
    find_quantified_clocks,
)
from timelines.backbones.rules.timing.phrases.grammar.days import find_dates, find_days
from timelines.backbones.rules.timing.phrases.grammar.events import find_events
from timelines.backbones.rules.timing.phrases.grammar.years import find_years
from timelines.backbones.rules.timing.phrases.manner import Manner
from timelines.backbones.rules.timing.phrases.terms import Basis, Kind, TimeExpression

_USUAL = Manner()
_PAIR = re.compile(r"\s*(?:and|or|&)\s+(?:again\s+)?(?:at\s+|@\s*)?", re.IGNORECASE)
_GLUE = re.compile(
    r"[\s]*[,(]?[\s]*(?:(?:of|on|in|at|the|that|by|until|into|into\s+the|around|about|from)\s+)*",
    re.IGNORECASE,
)


def find_expressions(text: str, manner: Manner = _USUAL) -> list[TimeExpression]:
    """Return all time expressions of `text` in order, without overlaps.

    Adjacent days, parts and clocks are joined. Any string is accepted. Offsets are code points of
    `text`, end-exclusive. `manner` says how the note writes times.
    """
    claimed: list[TimeExpression] = []
    for found in _find_all(text, manner):
        for expression in found:
            if not any(expression.start < c.end and c.start < expression.end for c in claimed):
                claimed.append(expression)
    claimed.sort(key=lambda e: e.start)
    joined = _share_days(text, _join_neighbours(text, claimed))
    return [replace(e, text=text[e.start : e.end].strip()) for e in joined]


def _find_all(text: str, manner: Manner) -> Iterator[list[TimeExpression]]:
    """Yield what each finder returns.

    They are in order of precedence: a later finder does not change the matches of an earlier one.
    """
    dates, days = find_dates(text, manner.is_date, manner.is_dotted), find_days(text)
    yield find_ages(text)
    yield dates
    yield find_plain_clocks(text, [*dates, *days], manner.plain_clocks)
    yield find_years(text, manner.is_year)
    yield find_quantified_clocks(text)
    yield find_hours_past(text)
    yield find_offsets(text)
    yield days
    yield find_clocks(text, manner.full_day)
    yield find_spans(text)
    if manner.is_year is not None:
        yield find_ages_of_conditions(text)
    yield find_parts(text)
    yield find_events(text)


def _join_neighbours(text: str, expressions: list[TimeExpression]) -> list[TimeExpression]:
    """Join a day with the part or clock next to it.

    Examples: "the evening of" + "POD 1", "HD3" + "mid-AM".
    """
    out: list[TimeExpression] = []
    for expression in expressions:
        previous = out[-1] if out else None
        if (
            previous
            and expression.end - previous.start < 90
            and _GLUE.fullmatch(text, previous.end, expression.start)
        ):
            comma = re.search(r"[,(]", text[previous.end : expression.start]) is not None
            joined = _join(previous, expression, comma)
            if joined is not None:
                out[-1] = joined
                continue
        out.append(expression)
    return out


def _share_days(text: str, expressions: list[TimeExpression]) -> list[TimeExpression]:
    """Give the first clock time of a pair the day of the second.

    Example: "at noon and at 1700 on 08/29".
    """
    out = list(expressions)
    for n in range(len(out) - 2, -1, -1):
        one, two = out[n], out[n + 1]
        lone = one.kind is Kind.POINT and one.part is not None and not (one.day or one.linked)
        if (
            lone
            and two.part is not None
            and two.day is not None
            and _PAIR.fullmatch(text, one.end, two.start)
        ):
            out[n] = replace(one, day=two.day)
    return out


def _join(a: TimeExpression, b: TimeExpression, comma: bool) -> TimeExpression | None:
    if a.kind is not Kind.POINT or b.kind is not Kind.POINT:
        return None
    if a.day and b.day and not (a.linked or b.linked):
        return None
    if a.part and b.part:
        return _join_parts(a, b) if not comma else None
    if comma and not (b.day is not None and b.part is None and b.day.basis is not Basis.CURRENT):
        return None
    named = a if a.day else b
    timed = a if a.part else b
    return replace(
        a,
        end=b.end,
        day=named.day,
        part=timed.part or named.part,
        linked=timed.linked if not named.day else "",
        ambiguous_clock=timed.ambiguous_clock,
    )


def _join_parts(a: TimeExpression, b: TimeExpression) -> TimeExpression | None:
    """Join a clock with a part of the day, or two parts.

    Examples: "before six" + "that morning", "late HD3" + "afternoon".
    """
    if a.part is None or b.part is None:
        return None
    if a.day and b.day:
        return None
    if a.ambiguous_clock or b.ambiguous_clock:
        clock, part = (a, b.part) if a.ambiguous_clock else (b, a.part)
        hour = clock.part.point % 12 if clock.part else 0.0
        best = min((hour, hour + 12, hour + 24), key=lambda h: abs(h - part.point))
        assert clock.part is not None
        moved = clock.part.shift(best - clock.part.point)
        return replace(
            a,
            end=b.end,
            day=a.day or b.day,
            part=moved,
            linked=a.linked or b.linked,
            ambiguous_clock=False,
        )
    if a.part.label.endswith(" day"):
        part = find_part(a.part.label.split()[0], b.part.label) or b.part
        return replace(a, end=b.end, day=a.day or b.day, part=part, linked=b.linked)
    return None
