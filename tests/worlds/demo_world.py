"""A complete demo, made by the commands and actions of the real one.

`make_demo` has one case in every variant, evaluated, judged, in an open packet with practice, a
reviewer and an adjudicator; timelines in progress and submitted; a run that failed; a run by a
language model with its calls. Only the models are stand-ins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from unittest import mock

from django.core.cache import cache
from django.core.management import call_command
from django.utils import timezone

from accounts.api_access.tokens import issue_token
from accounts.models import Role, Study, User
from adjudication.models import Assignment, Packet
from adjudication.packets import actions as packets
from config.services import demo
from ehr.models import Dataset, Encounter
from jobs.errors import PermanentFailure
from llm_runtime.calls.server_facts import NO_FACTS
from llm_runtime.roles import MATCHER, ModelRoles
from tests import factories
from tests.model_server import ModelServer
from tests.paths import DEMO
from tests.worlds.kept import build_once
from tests.worlds.prompted import LOCAL_ROLES, NOTE, make_answer
from timelines.authoring.actions import start_authoring, submit
from timelines.authoring.edits import Edit, apply_edit
from timelines.evaluations import actions as evaluation_actions
from timelines.models import Authoring
from timelines.runs import tools
from timelines.runs.actions import start_run
from timelines.runs.following import work_inline

#: Small embedders that need no weights, for retrieval and for matching.
ROLES = {**LOCAL_ROLES, MATCHER: {"provider": "hashing"}}


@dataclass(frozen=True)
class Demo:
    """The study and its people by what they are."""

    study: Study
    people: Mapping[str, User]


@build_once
def make_demo(path: Path = DEMO / "intro", cases: tuple[str, ...] | None = None) -> Demo:
    """Build it. Needs a test that commits (`transaction=True`)."""
    cache.clear()
    cache.clear()
    roles = mock.Mock(return_value=ModelRoles(ROLES))
    with (
        mock.patch.object(tools, "roles", roles),
        mock.patch.object(evaluation_actions, "roles", roles),
    ):
        call_command("create_demo_accounts", stdout=StringIO())
        study = Study.objects.get()
        _prompt_run(study)
        _reconstruct(study, path, cases)
        _fail_run(study)
    people = {role.value: User.objects.get(username=role.value) for role in Role}
    people["adjudicator"] = factories.make_user(study, Role.REVIEWER, username="adjudicator")
    people["author"] = factories.make_user(study, Role.CLINICIAN, username="author")
    people["superuser"] = factories.make_user(username="superuser")
    User.objects.filter(pk=people["superuser"].pk).update(is_superuser=True, is_staff=True)
    people["nobody"] = factories.make_user(username="nobody")
    _draw_packet(study, people)
    _author(study, people)
    issue_token(user=people["admin"], label="a program", by=people["admin"])
    return Demo(study, people)


def _reconstruct(study: Study, path: Path, cases: Sequence[str] | None) -> None:
    """As `config.services.demo`, in this process and over fewer cases."""
    quiet = {"stdout": StringIO(), "stderr": StringIO()}
    name = demo.EVALUATED
    call_command(
        "import_dataset",
        format="cases",
        path=path,
        name=name,
        study=study.name,
        cases=cases,
        **quiet,
    )
    call_command(
        "reconstruct", dataset=name, backbone="rules", variants=demo.VARIANTS, inline=True, **quiet
    )
    call_command(
        "evaluate", dataset=[name], label="demo cohort", resamples=20, rho_sweep=True, **quiet
    )
    call_command(
        "judge",
        dataset=[name],
        sources=demo.JUDGED,
        swap=True,
        label="demo cohort",
        inline=True,
        **quiet,
    )


def _draw_packet(study: Study, people: Mapping[str, User]) -> None:
    """Draw the demo's packet, with an adjudicator who has practised."""
    call_command(
        "draw_packet", label="demo packet", by="admin", reviewer=["reviewer"], stdout=StringIO()
    )
    packet = Packet.objects.get(study=study)
    made = packets.assign(
        packet=packet, person=people["adjudicator"], role="adjudicator", by=people["admin"]
    )
    Assignment.objects.filter(pk=made.pk).update(practised_at=timezone.now())
    packets.open_packet(packet=packet, by=people["admin"])


def _author(study: Study, people: Mapping[str, User]) -> None:
    """A draft of one case and a submitted timeline of another."""
    first, second = Encounter.objects.filter(dataset__study=study).order_by("pk")[:2]
    for encounter, protocol in (
        (first, Authoring.Protocol.UNAIDED),
        (second, Authoring.Protocol.ASSISTED),
    ):
        authoring, _ = start_authoring(encounter=encounter, protocol=protocol, by=people["author"])
        values = {"start": 0, "end": 9, "mention": "first words", "time": 0.0, "placed": True}
        apply_edit(
            authoring=authoring,
            edit=Edit("token", authoring.revision, "add", values=values),
            by=people["author"],
        )
    submit(authoring=authoring, by=people["author"])


def _fail_run(study: Study) -> None:
    """A run whose first stage fails for good."""
    dataset = Dataset.objects.get(study=study, name=demo.EVALUATED)
    with mock.patch(
        "timelines.runs.stages.execution.tag",
        side_effect=PermanentFailure("the tagger is not there"),
    ):
        run = start_run(dataset=dataset, backbone="rules", label="failed", by=None)
        work_inline(run, lambda words: None)


def _prompt_run(study: Study) -> None:
    """A run by a language model, so that there are calls to look at."""
    dataset = factories.make_dataset(study, "small")
    encounter = factories.make_encounter(dataset, case_id="small-1")
    factories.make_note(encounter, NOTE)
    event = "med:vancomycin:administered"
    factories.make_series(
        encounter,
        event,
        [factories.make_row(encounter, event, 6.5)],
        summary="vancomycin administered at 6.5 h",
    )
    server = ModelServer(make_answer)
    roles = ModelRoles(
        {**LOCAL_ROLES, "language_model": "fake"}, {"fake": server.options()}, facts=NO_FACTS
    )
    with server, mock.patch.object(tools, "roles", return_value=roles):
        work_inline(
            start_run(dataset=dataset, backbone="prompted", label="by a model", by=None),
            lambda words: None,
        )
