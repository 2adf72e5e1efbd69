"""Judge runs, games, findings and comparisons in the API.

They are unblinded, for people who may read cases. Each class is the one definition of its body, and
OpenAPI describes it from there.
"""

from __future__ import annotations

from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    DictField,
    FloatField,
    IntegerField,
    ListField,
)

from accounts.api_access.bodies import NamedChoice, NextPage, Page
from accounts.api_access.operations import Body, make_choices
from accounts.api_access.tables import Table
from adjudication.domain import FindingPolarity, FindingType, Grounding, Relation, Verdict
from adjudication.findings import changes
from adjudication.judge_runs.forms import (
    JUDGES,
    PRESETS,
    RECORD_TIMES,
    REPAIRS,
    SERIES_MOST,
    TOLERANCES,
)
from adjudication.judge_runs.progress import GameStatus
from adjudication.judging.config import SEED
from adjudication.scoring.errors import Category
from ehr.presentation.rendering import JUDGE_SERIES


class Source(Body):
    """A source to compare. Start a run with `written`."""

    source = CharField()  # type: ignore[assignment]  # the framework's fields have a source of their own
    kind = CharField()
    alternative = IntegerField()
    label = CharField()  # type: ignore[assignment]  # as above
    written = CharField()


class Counts(Body):
    """Games by result.

    Unjudged: the judge returned no valid answer, which differs from no findings.
    """

    waiting = IntegerField()
    running = IntegerField()
    judged = IntegerField()
    in_part = IntegerField(
        help_text="Judged games without findings that stayed invalid and were dropped."
    )
    unjudged = IntegerField()
    failed = IntegerField()
    cancelled = IntegerField()


class JudgeRun(Body):
    """One judge over the pairs of chosen sources of a cohort."""

    id = CharField(source="run.public_id")
    study = CharField(source="run.study.public_id")
    label = CharField(allow_blank=True, source="run.label")  # type: ignore[assignment]  # as above
    state = CharField(
        source="state.words",
        help_text="As text: Waiting, Judging, Paused, Done, Unjudged in part, …",
    )
    judge = CharField(source="run.judge", help_text="rules or prompted")
    judge_name = CharField(source="run.judge_name")
    judge_version = CharField(source="run.judge_version")
    datasets = ListField(child=CharField())
    sources = Source(many=True)
    swap = BooleanField(help_text="Whether every game is judged again in exchanged positions.")
    games = Counts(source="totals")
    findings = IntegerField(source="totals.findings")
    created_at = DateTimeField(source="run.created_at")
    created_by = CharField(allow_null=True, source="run.created_by.get_username")


class JudgeRunDetail(JudgeRun):
    """A judge run with all settings that its answers depend on, as frozen."""

    config = DictField(source="run.config")
    preset = CharField(help_text="default or published, with the settings that depart from it.")
    prompt_hashes = DictField(child=CharField(), source="run.prompt_hashes")
    language_models = DictField(
        source="run.language_models", help_text="The model of each role, without keys."
    )
    code_revision = CharField(allow_blank=True, source="run.code_revision")
    warning = CharField(
        allow_blank=True, help_text="A message if games wait and no worker takes them."
    )


class JudgeRunPage(Page):
    """Judge runs."""

    results = JudgeRun(many=True)


class JudgeChoices(Body):
    """Values that a run can be started with."""

    study = CharField()
    datasets = NamedChoice(many=True)
    sources = Source(many=True)
    models = ListField(child=CharField())


class JudgeStart(Body):
    """The datasets, sources, judge and settings of a new run.

    Only `sources` and `datasets` have no default.
    """

    study = CharField(default="", allow_blank=True, max_length=20)
    datasets = ListField(child=CharField(max_length=20), min_length=1)
    sources = ListField(
        child=CharField(max_length=300), min_length=2, help_text="`written` of the choices."
    )
    judge = ChoiceField(JUDGES, default="rules")
    model = CharField(default="", allow_blank=True, max_length=200)
    swap = BooleanField(default=False)
    uid_table = BooleanField(default=None, allow_null=True)
    tolerance = ChoiceField(TOLERANCES, default="scaled")
    preset = ChoiceField(PRESETS, default="default")
    record_times = ChoiceField(RECORD_TIMES, default="")
    repair = ChoiceField(REPAIRS, default="")
    attempts = IntegerField(default=None, allow_null=True, min_value=1)
    tolerance_hours = FloatField(default=None, allow_null=True, min_value=0)
    tolerance_share = FloatField(default=None, allow_null=True, min_value=0, max_value=1)
    series_limit = IntegerField(default=JUDGE_SERIES, min_value=1, max_value=SERIES_MOST)
    seed = IntegerField(default=SEED, min_value=0, max_value=2**62)
    cases = ListField(
        child=CharField(max_length=200), default=list, max_length=100_000, help_text="Case ids."
    )
    label = CharField(default="", allow_blank=True, max_length=180)  # type: ignore[assignment]  # as above


class FindingSide(Body):
    """One side as it was judged.

    `hours` are whole hours from admission, null for no time or no row.
    """

    source = CharField()  # type: ignore[assignment]  # as above
    event = CharField(allow_null=True)
    hours = IntegerField(allow_null=True, source="time")
    charged = BooleanField()


class Finding(Body):
    """One validated finding in the judge's labels, with its charge."""

    id = CharField(source="finding.public_id")
    run = CharField(source="game.run.public_id")
    game = CharField(source="game.public_id")
    case = CharField(source="game.comparison.encounter.public_id")
    case_id = CharField(source="game.comparison.encounter.case_id")
    swapped = BooleanField(source="game.swapped")
    type = ChoiceField(make_choices(FindingType), source="finding.type")
    verdict = ChoiceField(make_choices(Verdict), source="finding.verdict")
    polarity = ChoiceField(make_choices(FindingPolarity), source="finding.polarity")
    a = FindingSide()
    b = FindingSide()
    apart = IntegerField(
        allow_null=True, source="hours_apart", help_text="Whole hours between both times."
    )
    grounding = ChoiceField(make_choices(Grounding), source="finding.grounding")
    relation = ChoiceField(make_choices(Relation), allow_null=True, source="finding.relation")
    note_evidence = CharField(allow_null=True, source="finding.note_evidence")
    table_evidence = CharField(allow_null=True, source="finding.table_evidence")
    reason = CharField(allow_blank=True, source="finding.reason")
    flagged = BooleanField(
        source="finding.flagged", help_text="A difference in time within tolerance."
    )
    category = ChoiceField(make_choices(Category), allow_null=True, source="error")
    weight = FloatField(allow_null=True, source="points")


class FindingPage(NextPage):
    """A page of findings."""

    results = Finding(many=True)


class Game(Body):
    """One judging of two timelines of one case.

    `a` is the source behind the label A, null if not yet judged.
    """

    id = CharField(source="game.public_id")
    run = CharField(source="game.run.public_id")
    case = CharField(source="game.comparison.encounter.public_id")
    case_id = CharField(source="game.comparison.encounter.case_id")
    first = CharField(help_text="The source of the first timeline.")
    second = CharField()
    a = CharField(allow_null=True)
    swapped = BooleanField(
        source="game.swapped", help_text="Whether this is the rerun in exchanged positions."
    )
    status = ChoiceField(make_choices(GameStatus))
    findings = IntegerField()
    unjudged_reasons = ListField(child=CharField())
    failures = ListField(child=CharField())
    dropped_findings = IntegerField(
        source="game.dropped_findings",
        help_text="Findings that stayed invalid. If there are any, the game is judged in part.",
    )
    dropped_reasons = ListField(child=CharField(), source="game.dropped_reasons")
    series_supplied = IntegerField(allow_null=True, source="game.series_supplied")
    series_omitted = IntegerField(allow_null=True, source="game.series_omitted")
    rounds = IntegerField(source="game.rounds", help_text="Number of retries.")


class GameDetail(Game):
    """A game with its findings."""

    finding_list = Finding(many=True)


class GamePage(NextPage):
    """A page of games."""

    results = Game(many=True)


class Quote(Body):
    """Position of the quote in the case's note: code points, end-exclusive."""

    start = IntegerField()
    end = IntegerField()
    text = CharField()


class CitedRow(Body):
    """A row of the cited series.

    `cited`: it is at the cited hour and has the cited value.
    """

    hours = FloatField(allow_null=True)
    value = CharField(source="row.value")
    time_kind = CharField(source="row.time_kind")
    cited = BooleanField()


class CitedSeries(Body):
    """The series that the table evidence cites, with rows near the cited hour."""

    event = CharField(source="series.event")
    summary = CharField(source="series.summary")
    count = IntegerField(source="series.count")
    rows = CitedRow(many=True)


class Neighbour(Body):
    """A row of the timeline near the finding; `own` is the finding's."""

    event = CharField()
    hours = CharField(source="when.hours", help_text="In words.")
    uid = CharField(allow_blank=True)
    own = BooleanField()


class FindingTimeline(Body):
    """One side's timeline around its row.

    Hours are as stored, not the whole hours that were judged.
    """

    timeline = CharField(source="timeline.public_id")
    source = CharField()  # type: ignore[assignment]  # as above
    hours = FloatField(allow_null=True, source="entry.time")
    lower = FloatField(allow_null=True, source="entry.lower")
    upper = FloatField(allow_null=True, source="entry.upper")
    around = Neighbour(many=True)


class FindingDetail(Finding):
    """A finding with all its evidence."""

    quote = Quote(allow_null=True)
    series = CitedSeries(allow_null=True)
    a_timeline = FindingTimeline()
    b_timeline = FindingTimeline()


class Change(Body):
    """One subject in two judge runs; a side is null if it is new or gone."""

    change = ChoiceField([(c.value, c.words) for c in changes.Change])
    before = Finding(allow_null=True)
    after = Finding(allow_null=True)


class Changes(NextPage):
    """The change of each subject, over comparisons that both runs judged."""

    comparisons = IntegerField(
        allow_null=True, help_text="Number that both runs judged; null after the first page."
    )
    counts = DictField(
        child=IntegerField(),
        allow_null=True,
        help_text="Change → subjects, without the filter; null after the first page.",
    )
    results = Change(many=True)


class Timeline(Body):
    """A timeline of the case."""

    id = CharField()
    label = CharField()  # type: ignore[assignment]  # as above


class Placed(Body):
    """A row of one timeline; hours from admission."""

    event = CharField(source="mention")
    hours = FloatField(allow_null=True, source="time")
    lower = FloatField(allow_null=True)
    upper = FloatField(allow_null=True)
    uid = CharField(allow_null=True)
    absent = BooleanField()


class ComparedRow(Body):
    """One row of both timelines aligned. `how` says why the two match."""

    number = IntegerField()
    state = ChoiceField(["differs", "agrees", "only-a", "only-b"])
    how = CharField(allow_null=True, source="row.how")
    a = Placed(allow_null=True, source="row.first")
    b = Placed(allow_null=True, source="row.second")
    findings = ListField(child=CharField(), source="finding_ids", help_text="Public ids.")


class Comparison(Body):
    """Two timelines of one case side by side, with one judge run's findings."""

    case = CharField()
    timelines = Timeline(many=True)
    a = Timeline()
    b = Timeline()
    runs = ListField(child=CharField(), help_text="Judge runs that judged these two, newest first.")
    run = CharField(allow_null=True)
    rows = ComparedRow(many=True)


class JudgeReport(Body):
    """The tables of a judge run's report.

    Ratings, error profile, sensitivity, strata, matchups and consistency.
    """

    run = CharField()
    computed_at = DateTimeField()
    newer_games = IntegerField(help_text="Games judged since then.")
    tables = Table(many=True)
