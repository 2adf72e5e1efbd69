"""The note with a link for each occurrence. No Django here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from cohorts.asof.states import State
from timelines.presentation.note_html import text_html
from timelines.presentation.segments import Span, split_segments


def link_note(
    note: str, spans: Sequence[Span], states: Mapping[str, State], addresses: Mapping[str, str]
) -> str:
    """Return the HTML of the whole note, every character of it.

    Where occurrences overlap, the shortest one is linked. Keyboards reach the same links in the
    list of occurrences, so these are not in the order of tabs.
    """
    html = []
    for piece in split_segments(len(note), spans):
        text = text_html(note[piece.start : piece.end])
        if not piece.keys:
            html.append(text)
            continue
        key = piece.keys[0]
        state = states[key]
        html.append(
            f'<a class="as-of-span as-of-{state.value}" tabindex="-1" title="{state.words}"'
            f' href="{escape(addresses[key])}">{text}</a>'
        )
    return "".join(html)
