"""Trajectories in the API. Figures are computed when they are asked for."""

from __future__ import annotations

import math
from functools import partial
from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from accounts.api_access.access import (
    STUDY,
    ApiView,
    find_requested_studies,
    read_body,
    require_person,
    require_studies,
)
from accounts.api_access.operations import operation
from accounts.api_access.paging import LIMIT, OFFSET, load_page
from accounts.api_access.tables import describe_table_files
from cohorts.api.access import build_study_request, find_dataset, find_in_studies, find_versions
from cohorts.api.trajectories import bodies
from cohorts.facts.versions import newest_versions
from cohorts.models import Trajectory
from cohorts.trajectories.actions import delete_view, save_view
from cohorts.trajectories.choices import Choice, saved_choice
from cohorts.trajectories.figures import TABLES
from cohorts.trajectories.lanes import Order
from cohorts.trajectories.opening import Opened, open_figures
from cohorts.values import Source
from timelines.evaluation.tables import Table
from timelines.evaluations.table_files import FORMATS, table_file

trajectory_operation = partial(operation, "trajectories")
TABLE = OpenApiParameter("table", str, OpenApiParameter.PATH, enum=list(TABLES))
#: Tidy tables are for programs, so there is no LaTeX.
FORMS = {form: FORMATS[form] for form in ("csv", "json")}
TABLE_FORM, TABLE_FILE = describe_table_files(FORMS)


class Trajectories(ApiView):
    @trajectory_operation(
        "trajectory_list", bodies.TrajectoryPage, parameters=[STUDY, LIMIT, OFFSET]
    )
    def get(self, request: Request) -> dict[str, Any]:
        """Return the saved views of your studies."""
        found = _saved().filter(study__in=find_requested_studies(request))
        return load_page(request, found.order_by("study__name", "name", "pk"))

    @trajectory_operation(
        "trajectory_save",
        bodies.Trajectory,
        refuses=(422,),
        takes=bodies.TrajectoryStart,
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request) -> Trajectory:
        """Save what a view shows."""
        require_studies(request)
        values = read_body(bodies.TrajectoryStart, request)
        dataset = find_dataset(request, values["dataset"])
        group = [values["group"]] if values["group"] not in ("", "unit", "sex") else []
        named = {name: [values[name]] if values[name] else [] for name in ("zero", "target")}
        find_versions(dataset.study, {**named, "concepts": values["concepts"], "group": group})
        return save_view(
            dataset=dataset,
            name=values["name"],
            choice=_read_choice(values),
            versions=newest_versions(dataset.study),
            by=require_person(request),
        )


class TrajectoryOne(ApiView):
    @trajectory_operation("trajectory", bodies.TrajectoryDetail)
    def get(self, request: Request, trajectory_id: str) -> dict[str, Any]:
        """Return a saved view and what its figures say.

        Drawn cases count as seen by you.
        """
        saved = _find(request, trajectory_id)
        opened = _open(request, saved)
        shown = ("public_id", "study", "dataset", "name", "created_at", "created_by")
        figures = opened.figures
        return {
            **{name: getattr(saved, name) for name in shown},
            "choice": saved_choice(saved).as_plain(),
            "stays": figures.lanes,
            "without": opened.without,
            "before": figures.survival.before,
            "series": opened.series,
            "changes": opened.changes,
            "tables": [{"name": name, "rows": len(figures.tables[name].rows)} for name in TABLES],
        }

    @trajectory_operation("trajectory_delete", None)
    def delete(self, request: Request, trajectory_id: str) -> None:
        """Delete a saved view: your own, or as a study admin."""
        delete_view(view=_find(request, trajectory_id), by=require_person(request))


class TrajectoryTable(ApiView):
    @trajectory_operation("trajectory_table", TABLE_FILE, parameters=[TABLE, TABLE_FORM])
    def get(self, request: Request, trajectory_id: str, table: str, form: str) -> HttpResponse:
        """Return a tidy table of a saved view. Its cases count as seen by you."""
        saved = _find(request, trajectory_id)
        if table not in TABLES or form not in FORMS:
            raise Http404
        found = _open(request, saved, shown=table).figures.tables[table]
        rows = tuple(tuple(map(_close, row)) for row in found.rows)
        made = Table(table, f"{saved.name}: {table}", found.heads, rows)
        return table_file(made, form, f"trajectory-{table}")


def _saved() -> QuerySet[Trajectory]:
    return Trajectory.objects.select_related("study", "dataset__study", "created_by")


def _find(request: Request, trajectory_id: str) -> Trajectory:
    return find_in_studies(request, _saved(), trajectory_id)


def _open(request: Request, saved: Trajectory, shown: str = "") -> Opened:
    page = build_study_request(request, saved.study)
    versions = newest_versions(saved.study)
    return open_figures(page, saved.dataset, saved_choice(saved), versions, shown)


def _close(cell: Any) -> Any:
    """Return a cell as JSON can say it: an open bound is None."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _read_choice(values: Any) -> Choice:
    """Return the choices of a body. Raises ValidationError."""
    if values["stop"] <= values["start"]:
        raise ValidationError({"stop": ["An hour after `start`."]})
    names = ("zero", "target", "series", "start", "stop", "group")
    return Choice(
        dataset=values["dataset"],
        source=Source(values["source"]),
        concepts=tuple(dict.fromkeys(values["concepts"])),
        order=Order(values["order"]),
        **{name: values[name] for name in names},
    )
