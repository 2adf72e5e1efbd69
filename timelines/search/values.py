"""What a search returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from ehr.models import Encounter
from ehr.presentation.clock import Moment

#: Hits shown of one case, and cases shown on one page.
HITS_EACH = 3
PAGE_SIZE = 20


@dataclass(frozen=True, slots=True)
class Hit:
    """A sentence with its marked pieces, and the occurrence in it.

    `uid4` is empty and `moment` None if the place is no occurrence of the study timeline.
    """

    pieces: tuple[tuple[str, bool], ...]
    uid4: str = ""
    moment: Moment | None = None
    cut_before: bool = False
    cut_after: bool = False

    @property
    def sentence(self) -> SafeString:
        """Return the sentence as HTML, escaped, with the matches marked."""
        inside = format_html_join(
            "",
            "{}",
            [(format_html("<mark>{}</mark>", p) if marked else p,) for p, marked in self.pieces],
        )
        before, after = "… " if self.cut_before else "", " …" if self.cut_after else ""
        return format_html("{}{}{}", before, inside, after)


@dataclass(frozen=True, slots=True)
class CaseHits:
    """A case, its best hits, and how many further sentences it has."""

    encounter: Encounter
    line: str
    hits: tuple[Hit, ...]
    more: int = 0

    @property
    def shows_times(self) -> bool:
        """Return whether something of a timeline is shown."""
        return any(hit.uid4 for hit in self.hits)


@dataclass(frozen=True, slots=True)
class Found:
    """The primary keys of the cases that match, best first.

    `capped`: more cases match than were ranked.
    """

    encounters: Sequence[int]
    capped: bool = False
