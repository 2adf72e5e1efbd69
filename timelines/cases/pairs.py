"""The pairs of an evaluation on the case page.

They say which occurrence of the shown timeline was paired with which of the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.http import Http404
from django.shortcuts import get_object_or_404

from accounts.scoping import StudyRequest
from ehr.models import Encounter
from timelines.access.authoring import SUPERSEDED
from timelines.cases.choices import Choice
from timelines.evaluation.plain import case_from_plain, settings_from_plain
from timelines.evaluation.values import Basis, PlacedEvent, SourceKey
from timelines.evaluations.opening import open_evaluation
from timelines.evaluations.pairs import compared_timeline, find_source, reference_timeline
from timelines.models import Entry, Evaluation, EvaluationCase
from timelines.presentation.case_plot import Item
from timelines.presentation.evaluation.tables import BASIS_WORDS


@dataclass(frozen=True)
class CasePairs:
    """The pairs of one timeline under one basis.

    They map an occurrence's key on this page to its partner in the reference.
    """

    evaluation: Evaluation
    basis: Basis
    partners: Mapping[str, PlacedEvent]

    @property
    def basis_words(self) -> str:
        return BASIS_WORDS[self.basis].lower()

    def select(self, items: Sequence[Item]) -> list[Item]:
        """The occurrences compared with their partners, and with nothing else."""
        return [_add_partner(item, self.partners.get(item.key)) for item in items]


def find_pairs(request: StudyRequest, encounter: Encounter, choice: Choice) -> CasePairs | None:
    """Return the pairs of evaluation `e` under basis `b` (else its first).

    None if the evaluation did not compare the shown timeline. Raises Http404 for an evaluation that
    the person does not have or that lacks the case, NotAllowed while it is closed to them.
    """
    if not request.GET.get("e"):
        return None
    evaluation = open_evaluation(request, request.GET["e"])
    stored = get_object_or_404(EvaluationCase, evaluation=evaluation, encounter=encounter)
    basis = _basis(request.GET.get("b", ""), settings_from_plain(evaluation.config).bases)
    key = SourceKey(SUPERSEDED.sub("", choice.source), choice.kind.value, choice.alternative)
    source = find_source(case_from_plain(stored.result), key, basis)
    if source is None:
        return None
    compared, reference = (
        compared_timeline(evaluation, encounter, source),
        reference_timeline(evaluation, encounter, source),
    )
    if compared is None or reference is None or compared.timeline.pk != choice.pk:
        return None
    shown = _shown_keys(choice)
    partners = {
        shown.get(p.predicted, p.predicted): reference.events[p.reference] for p in source.pairs
    }
    return CasePairs(evaluation, basis, partners)


def _basis(wanted: str, bases: Sequence[Basis]) -> Basis:
    found = next((b for b in bases if b.value == wanted), None) if wanted else bases[0]
    if found is None:
        raise Http404
    return found


def _shown_keys(choice: Choice) -> dict[str, str]:
    """Map an evaluation's keys to this page's for timelines by time.

    Only timelines without an inventory need this: this page lists their entries by time. Empty for
    others.
    """
    if choice.inventory_id is not None:
        return {}
    entries = Entry.objects.filter(timeline_id=choice.pk)
    stored = entries.order_by("occurrence__ordinal", "pk").values_list("pk", flat=True)
    listed = entries.order_by("occurrence__ordinal", "time", "pk").values_list("pk", flat=True)
    place = {pk: f"row-{n}" for n, pk in enumerate(listed)}
    return {f"#{n + 1}": place[pk] for n, pk in enumerate(stored)}


def _add_partner(item: Item, partner: PlacedEvent | None) -> Item:
    if partner is None:
        return replace(item, reference_key="", reference_time=None)
    span = None if partner.start is None or partner.end is None else (partner.start, partner.end)
    return replace(
        item,
        reference_key=partner.key,
        reference_time=partner.time,
        reference_mention=partner.mention,
        reference_span=span,
        paired=True,
    )
