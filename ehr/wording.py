"""Times in the words of the page: "+6.5 h", "−3 d 4 h", "HD 1, 21:08". No Django. Source: ui.md, "Numbers and words"."""

from __future__ import annotations

from datetime import datetime

MINUS = "−"


def hours_words(hours: float) -> str:
    """Hours from admission as a person says them: hours below two days, days and hours below sixty days, then months and years."""
    sign = "+" if hours > 0 else MINUS if hours < 0 else ""
    size = abs(hours)
    if size < 0.05:
        return "0 h"
    if size < 48:
        return f"{sign}{size:.1f}".removesuffix(".0") + " h"
    if size < 60 * 24:
        days, rest = divmod(round(size), 24)
        return f"{sign}{days} d" + (f" {rest} h" if rest else "")
    if size < 2 * 8760:
        return f"{sign}{size / 720:.1f}".removesuffix(".0") + " mo"
    return f"{sign}{size / 8760:.1f}".removesuffix(".0") + " y"


def hospital_day(admitted: datetime, when: datetime) -> int | None:
    """HD 1 is the calendar day of admission; None before it."""
    day = (when.date() - admitted.date()).days + 1
    return day if day >= 1 else None


def clock_words(admitted: datetime, when: datetime) -> str:
    """ "HD 1, 21:08"; before the day of admission the date itself."""
    day = hospital_day(admitted, when)
    return f"HD {day}, {when:%H:%M}" if day else f"{when:%Y-%m-%d %H:%M}"
