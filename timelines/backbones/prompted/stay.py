"""The stay as prompts show it: the discharge hour and a table of its days.

So no model has to compute hours from calendar days.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta

from timelines.backbones.prompted.tables import hours_text
from timelines.domain import NotePart, Window

#: Days in the table if the discharge is not recorded, and at most.
DAYS, MOST_DAYS = 7, 60


#: What a model is shown of a chart besides its text.
OF_A_CHART = (
    "The note is a chart: several notes in order of time, each below a line between === that says"
    " what it is and when it was written. In it “today”, “yesterday” and “this morning” count from"
    " then, what has no time was so then, and what it reports as past is not later. A discharge"
    " summary looks back on the whole stay."
)


def stay_fields(window: Window, parts: Sequence[NotePart] = ()) -> dict[str, str]:
    """Return the fields of the prompt part "stay" besides its anchor.

    `parts` are those of a chart.
    """
    discharge = (
        "The discharge is not recorded."
        if window.discharge is None
        else f"Discharge is at hour {hours_text(window.discharge)}."
    )
    if parts:
        discharge = f"{discharge} {OF_A_CHART}"
    return {"discharge": discharge, "days": hospital_days(window)}


def hospital_days(window: Window) -> str:
    """Return lines `hospital day | date | hour at 00:00 | hour at 24:00`.

    Hospital day 1 is the calendar day of hour 0. The last line is the day of discharge; a longer
    stay ends with a line that says how to go on.
    """
    anchor, first = window.anchor, datetime.combine(window.anchor.at.date(), time())
    count = DAYS
    if window.discharge is not None:
        end = anchor.clock(window.discharge)
        count = MOST_DAYS + 1 if end is None else (end.date() - first.date()).days + 1
    lines = ["hospital day | date | hour at 00:00 | hour at 24:00"]
    for day in range(min(max(count, 1), MOST_DAYS, (date.max - first.date()).days + 1)):
        midnight = first + timedelta(days=day)
        start = anchor.hours(midnight)
        lines.append(
            f"{day + 1} | {midnight:%Y-%m-%d} | {hours_text(start)} | {hours_text(start + 24)}"
        )
    if window.discharge is None or count > MOST_DAYS:
        lines.append("and so on: 24 hours for each further day")
    return "\n".join(lines)
