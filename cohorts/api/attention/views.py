"""Where a person's look is needed, in the API.

The ranked list, rows without narrative.
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from accounts.api_access.access import (
    STUDY,
    ApiView,
    find_study,
    read_body,
    require_person,
    require_studies,
)
from accounts.api_access.operations import operation
from accounts.api_access.paging import LIMIT, OFFSET, load_page, read_choice
from accounts.models import Study
from accounts.permissions import CASE_READERS
from cohorts.api.access import build_study_request, find_dataset
from cohorts.api.attention import bodies
from cohorts.attention.actions import mark_looked_at
from cohorts.attention.ranking import find_items, find_latest, load_mentions, start_ranking
from cohorts.attention.unexplained import Episode, Row, find_stays, find_unexplained
from cohorts.attention.values import Reason
from cohorts.exposing import expose
from cohorts.models import AttentionItem, AttentionRanking
from ehr.models import Encounter
from timelines.access.closed import closed_encounters
from timelines.cases.listing import title_line

attention_operation = partial(operation, "attention")
DATASET = OpenApiParameter("dataset", str, description="Public id of a dataset.")
REASON = OpenApiParameter("why", str, enum=[reason.value for reason in Reason])


class Attention(ApiView):
    @attention_operation(
        "attention_list",
        bodies.AttentionPage,
        parameters=[STUDY, DATASET, REASON, LIMIT, OFFSET],
    )
    def get(self, request: Request) -> dict[str, Any]:
        """Return the places that nobody has looked at for the same reasons.

        Each case counts as seen by you.
        """
        study = find_study(request, request.query_params.get("study", ""), CASE_READERS)
        items = find_items(study, closed_encounters(require_person(request)))
        if reason := read_choice(request, "why", [reason.value for reason in Reason]):
            items = items.filter(reasons__contains=[reason])
        if dataset := request.query_params.get("dataset", ""):
            items = items.filter(encounter__dataset=find_dataset(request, dataset))
        latest = find_latest(study)
        return {
            "ranked_at": latest.finished_at if latest else None,
            **load_page(
                request,
                items.select_related("encounter__dataset"),
                partial(_list_items, request, study),
            ),
        }


class AttentionRank(ApiView):
    @attention_operation(
        "attention_rank", bodies.Ranking, takes=bodies.RankingStart, status=HTTPStatus.CREATED
    )
    def post(self, request: Request) -> AttentionRanking:
        """Queue the ranking of a study; one that waits already is enough."""
        require_studies(request)
        values = read_body(bodies.RankingStart, request)
        return start_ranking(find_study(request, values["study"], CASE_READERS))


class AttentionLook(ApiView):
    @attention_operation("attention_look", None)
    def post(self, request: Request, number: int) -> None:
        """Hide a place that you have looked at until it has other reasons."""
        items = AttentionItem.objects.select_related("study", "encounter")
        item = get_object_or_404(items, pk=number, study__in=require_studies(request))
        if item.encounter_id in closed_encounters(require_person(request)):
            raise Http404
        mark_looked_at(item=item, by=require_person(request))


class Unexplained(ApiView):
    @attention_operation("unexplained_list", bodies.UnexplainedPage, parameters=[LIMIT, OFFSET])
    def get(self, request: Request, dataset_id: str) -> dict[str, Any]:
        """Return important rows that no occurrence explains, stay by stay.

        Each stay of the page is searched; those with such rows count as seen by you.
        """
        dataset = find_dataset(request, dataset_id)
        stays = find_stays(dataset, closed_encounters(require_person(request)))

        def describe(shown: list[Encounter]) -> list[dict[str, Any]]:
            found = find_unexplained(dataset, shown)
            page = build_study_request(request, dataset.study)
            expose(page, [stay.public_id for stay in shown if stay.pk in found])
            return [_describe_stay(stay, found.get(stay.pk, ())) for stay in shown]

        return load_page(request, stays, describe)


def _list_items(request: Request, study: Study, items: list[AttentionItem]) -> list[dict[str, Any]]:
    expose(build_study_request(request, study), [item.encounter.public_id for item in items])
    mentions = load_mentions(study, items)
    return [
        {
            "number": item.pk,
            "case": item.encounter.public_id,
            "case_id": item.encounter.case_id,
            "title": title_line(item.encounter),
            "uid": item.uid4,
            "mention": mentions.get((item.encounter_id, item.uid4), ""),
            "score": item.score,
            "reasons": [
                {
                    "why": reason.value,
                    "words": reason.label,
                    "weight": reason.weight,
                    "target": item.targets.get(reason.value, ""),
                }
                for reason in sorted(map(Reason, item.reasons), key=lambda one: -one.weight)
            ],
        }
        for item in items
    ]


def _describe_stay(stay: Encounter, episodes: tuple[Episode, ...]) -> dict[str, Any]:
    return {
        "case": stay.public_id,
        "case_id": stay.case_id,
        "title": title_line(stay),
        "episodes": [
            {
                "important": episode.first.kind.name,
                "why": episode.first.kind.why,
                "rows": [
                    {name: getattr(row, name) for name in Row.__slots__} for row in episode.rows
                ],
                "nearest": episode.nearest,
            }
            for episode in episodes
        ],
    }
