"""Limit how often a person asks for what is costly, also in the API.

A request that is not in the table has no limit. Counts are in the database, so that several web
processes count together. REQUEST_LIMITS multiplies every limit; 0 switches them off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts.models import User
from accounts.requests.counting import Limit, make_key, spend
from accounts.requests.guard import API
from accounts.requests.limits import TooManyRequests, refuse_too_many

SECONDS = 60
READS = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True)
class Group:
    """Addresses that share one count for each person.

    `starts`: only requests that start something count, not those that show its form or list.
    """

    name: str
    most: int
    addresses: frozenset[str]
    starts: bool = False


def _names(app: str, words: str) -> frozenset[str]:
    return frozenset(f"{app}:{word}" for word in words.split())


#: What the addresses cost: a search reads the texts of a study, a file or figure is made anew, a
#: report sums a whole run, a start is work for the workers, and a password keeps a core busy.
GROUPS = (
    Group(
        "search",
        60,
        _names("timelines", "search case_find")
        | _names("timelines_api", "case_search")
        | _names("cohorts", "concept_meaning concept_vectors")
        | _names("cohorts_api", "concept_meaning"),
        starts=True,
    ),
    Group(
        "files",
        300,
        _names(
            "timelines",
            "case_export run_costs authoring_download evaluation_table export_download",
        )
        | _names("timelines_api", "case_export evaluation_table export_download run_timelines")
        | _names("ehr", "upload_reasons")
        | _names(
            "adjudication",
            "dashboard_table findings_download games_download report_table packet_download"
            " recipe_download study_report_figure study_report_file review_receipt_file",
        )
        | _names(
            "adjudication_api",
            "games_file findings_file judge_report_table packet_report_table packet_decisions"
            " launch_report_file",
        )
        | _names(
            "cohorts",
            "concept_export window_aces window_result_csv as_of_table as_of_export leakage_file"
            " trajectory_table",
        )
        | _names(
            "cohorts_api",
            "concept_export window_aces window_result_csv as_of_table as_of_export leakage_file"
            " trajectory_table",
        ),
    ),
    Group(
        "reports",
        60,
        _names("timelines", "evaluation evaluation_funnel")
        | _names("timelines_api", "evaluation")
        | _names(
            "adjudication",
            "dashboard judge_changes report_card study_report planted_recall",
        )
        | _names(
            "adjudication_api",
            "judge_report judge_changes packet_report launch_report planted_recall",
        )
        | _names("cohorts", "trajectories trajectory_view trajectory attention_rank")
        | _names("cohorts_api", "trajectory attention_rank"),
    ),
    Group(
        "starts",
        30,
        _names("timelines", "run_new export_new evaluation_new")
        | _names("timelines_api", "runs exports evaluations")
        | _names("ehr", "import_new upload_settings")
        | _names("ehr_api", "imports import_check import_start")
        | _names(
            "adjudication",
            "judge_run_new judge_game_again packet_new recipe_launch study_report_new",
        )
        | _names(
            "adjudication_api",
            "judge_runs judge_game_again packet_preview packet_draw recipe_launch",
        )
        | _names(
            "cohorts",
            "concept_import concept_sample_draw window_evaluate window_result_update as_of_new"
            " leakage_new",
        )
        | _names(
            "cohorts_api",
            "concept_import window_results window_result_update as_of_reports leakage_checks"
            " aces_read",
        )
        | _names("jobs", "webhook_test")
        | _names("jobs_api", "webhook_test")
        | _names("llm_runtime", "health"),
        starts=True,
    ),
    Group(
        "passwords",
        20,
        _names("accounts", "password_change account_create account_reset provider_connect")
        | frozenset({"account_reauthenticate"})
        | _names("adjudication", "review_sign")
        | _names("adjudication_api", "review_sign"),
        starts=True,
    ),
)
_BY_ADDRESS = {address: group for group in GROUPS for address in group.addresses}


class RateLimitMiddleware:
    """Refuses costly requests to pages beyond the person's limit."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *args: object) -> HttpResponse | None:
        """Return the refusal, None for a request within the limits."""
        try:
            # The API knows the person only after it has read the token.
            if not request.path_info.startswith(API):
                check_rate(request, request.user)
        except TooManyRequests as error:
            return refuse_too_many(request, error.wait)
        return None


class PersonThrottle(BaseThrottle):
    """The same limits in the API."""

    def allow_request(self, request: Request, view: object) -> bool:
        """Return True within the limit. Raises TooManyRequests."""
        check_rate(request._request, request.user)
        return True


def check_rate(request: HttpRequest, person: object) -> None:
    """Count a costly request. Raises TooManyRequests beyond the limit."""
    match = request.resolver_match
    group = _BY_ADDRESS.get(match.view_name) if match else None
    if group is None or not isinstance(person, User) or not settings.REQUEST_LIMITS:
        return
    if group.starts and request.method in READS:
        return
    limit = Limit(group.most * settings.REQUEST_LIMITS, SECONDS)
    count = spend(make_key("requests", group.name, str(person.pk)), limit)
    if not count.allowed:
        raise TooManyRequests(count.seconds)
