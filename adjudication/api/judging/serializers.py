"""Bodies of judge runs, games, findings and comparisons: unblinded, for those who read cases."""

from __future__ import annotations

from rest_framework import serializers

from adjudication.api.review.serializers import Body
from adjudication.domain import FindingType, Grounding, Relation, Verdict
from adjudication.findings.changes import Change
from adjudication.judge_runs.forms import JUDGES, TOLERANCES
from adjudication.judge_runs.progress import GameStatus
from adjudication.judging.config import SEED
from adjudication.scoring.errors import Category
from timelines.domain import Polarity


class PageSerializer(Body):
    """A counted page; `next` and `previous` are addresses."""

    count = serializers.IntegerField()
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)


class SourceSerializer(Body):
    """What is compared. `written` is how a run is started with it."""

    source = serializers.CharField()  # type: ignore[assignment]  # the framework's fields have a source of their own
    kind = serializers.CharField()
    alternative = serializers.IntegerField()
    label = serializers.CharField()  # type: ignore[assignment]  # as above
    written = serializers.CharField()


class CountsSerializer(Body):
    """Games by result. Unjudged: the judge returned no valid answer. That differs from no findings."""

    waiting = serializers.IntegerField()
    running = serializers.IntegerField()
    judged = serializers.IntegerField()
    unjudged = serializers.IntegerField()
    failed = serializers.IntegerField()
    cancelled = serializers.IntegerField()


class JudgeRunSerializer(Body):
    """One judge over the pairs of chosen sources of a cohort."""

    id = serializers.CharField()
    study = serializers.CharField()
    label = serializers.CharField(allow_blank=True)  # type: ignore[assignment]  # as above
    state = serializers.CharField(
        help_text="In words: Waiting, Judging, Paused, Done, Unjudged in part, …"
    )
    judge = serializers.CharField(help_text="rules or prompted")
    judge_name = serializers.CharField()
    judge_version = serializers.CharField()
    datasets = serializers.ListField(child=serializers.CharField())
    sources = SourceSerializer(many=True)
    swap = serializers.BooleanField(
        help_text="Whether every game is judged again in exchanged positions."
    )
    games = CountsSerializer()
    findings = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_null=True)


class JudgeRunDetailSerializer(JudgeRunSerializer):
    """With everything that its answers depend on, as it was frozen."""

    config = serializers.DictField()
    prompt_hashes = serializers.DictField(child=serializers.CharField())
    language_models = serializers.DictField(help_text="What serves each role; never a key.")
    code_revision = serializers.CharField(allow_blank=True)
    warning = serializers.CharField(
        allow_blank=True, help_text="A sentence where games wait and nobody works on them."
    )


class CohortSerializer(Body):
    """A dataset that can be judged."""

    id = serializers.CharField()
    name = serializers.CharField()


class JudgeChoicesSerializer(Body):
    """What a run can be started with."""

    study = serializers.CharField()
    datasets = CohortSerializer(many=True)
    sources = SourceSerializer(many=True)
    models = serializers.ListField(child=serializers.CharField())


class JudgeStartSerializer(Body):
    """What is judged, and by whom. Only `sources` and `datasets` have no default."""

    study = serializers.CharField(required=False, default="", allow_blank=True, max_length=20)
    datasets = serializers.ListField(child=serializers.CharField(max_length=20), min_length=1)
    sources = serializers.ListField(
        child=serializers.CharField(max_length=300),
        min_length=2,
        help_text="`written` of the choices.",
    )
    judge = serializers.ChoiceField(JUDGES, default="rules")
    model = serializers.CharField(required=False, default="", allow_blank=True, max_length=200)
    swap = serializers.BooleanField(default=False)
    uid_table = serializers.BooleanField(default=False)
    tolerance = serializers.ChoiceField(TOLERANCES, default="scaled")
    seed = serializers.IntegerField(default=SEED, min_value=0, max_value=2**62)
    cases = serializers.ListField(
        child=serializers.CharField(max_length=200),
        default=list,
        max_length=100_000,
        help_text="Case ids.",
    )
    label = serializers.CharField(required=False, default="", allow_blank=True, max_length=180)  # type: ignore[assignment]  # as above


class GameSerializer(Body):
    """One judging of two timelines of one case. `a` is the source behind the label A; null before
    it was judged.
    """

    id = serializers.CharField()
    run = serializers.CharField()
    case = serializers.CharField()
    case_id = serializers.CharField()
    first = serializers.CharField(help_text="The source of the first timeline.")
    second = serializers.CharField()
    a = serializers.CharField(allow_null=True)
    swapped = serializers.BooleanField(
        help_text="Whether this is the rerun in exchanged positions."
    )
    status = serializers.ChoiceField([(s.value, s.value) for s in GameStatus])
    findings = serializers.IntegerField()
    unjudged_reasons = serializers.ListField(child=serializers.CharField())
    failures = serializers.ListField(child=serializers.CharField())
    series_supplied = serializers.IntegerField(allow_null=True)
    series_omitted = serializers.IntegerField(allow_null=True)
    rounds = serializers.IntegerField(help_text="How often it was asked for again.")


class FindingSideSerializer(Body):
    """One side as it was judged: whole hours from admission, null for no time or no row."""

    source = serializers.CharField()  # type: ignore[assignment]  # as above
    event = serializers.CharField(allow_null=True)
    hours = serializers.IntegerField(allow_null=True)
    charged = serializers.BooleanField()


class FindingSerializer(Body):
    """One validated finding in the judge's labels, and who is charged with what after unblinding."""

    id = serializers.CharField()
    run = serializers.CharField()
    game = serializers.CharField()
    case = serializers.CharField()
    case_id = serializers.CharField()
    swapped = serializers.BooleanField()
    type = serializers.ChoiceField([(t.value, t.value) for t in FindingType])
    verdict = serializers.ChoiceField([(v.value, v.value) for v in Verdict])
    polarity = serializers.ChoiceField([(p.value, p.value) for p in Polarity])
    a = FindingSideSerializer()
    b = FindingSideSerializer()
    apart = serializers.IntegerField(allow_null=True, help_text="Whole hours between both times.")
    grounding = serializers.ChoiceField([(g.value, g.value) for g in Grounding])
    relation = serializers.ChoiceField([(r.value, r.value) for r in Relation], allow_null=True)
    note_evidence = serializers.CharField(allow_null=True)
    table_evidence = serializers.CharField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)
    flagged = serializers.BooleanField(help_text="A difference in time within tolerance.")
    category = serializers.ChoiceField([(c.value, c.value) for c in Category], allow_null=True)
    weight = serializers.FloatField(allow_null=True)


class FindingPageSerializer(Body):
    """So many findings and where the next ones are."""

    next = serializers.CharField(
        allow_null=True, help_text="Ask again with `after` set to this; null after the last page."
    )
    results = FindingSerializer(many=True)


class QuoteSerializer(Body):
    """Position of the quote in the case's note: code points, end-exclusive."""

    start = serializers.IntegerField()
    end = serializers.IntegerField()
    text = serializers.CharField()


class CitedRowSerializer(Body):
    """A row of the cited series; `cited` for those at the cited hour with the cited value."""

    hours = serializers.FloatField(allow_null=True)
    value = serializers.CharField()
    time_kind = serializers.CharField()
    cited = serializers.BooleanField()


class CitedSeriesSerializer(Body):
    """The series that the table evidence is about, with the rows nearest to the cited hour."""

    event = serializers.CharField()
    summary = serializers.CharField()
    count = serializers.IntegerField()
    rows = CitedRowSerializer(many=True)


class NeighbourSerializer(Body):
    """A row of the timeline around; `own` is the finding's."""

    event = serializers.CharField()
    hours = serializers.CharField(help_text="In words.")
    uid = serializers.CharField(allow_blank=True)
    own = serializers.BooleanField()


class FindingTimelineSerializer(Body):
    """One side's timeline around its row. Hours as stored, not the whole hours that were judged."""

    timeline = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]  # as above
    hours = serializers.FloatField(allow_null=True)
    lower = serializers.FloatField(allow_null=True)
    upper = serializers.FloatField(allow_null=True)
    around = NeighbourSerializer(many=True)


class FindingDetailSerializer(FindingSerializer):
    """With everything that it rests on."""

    quote = QuoteSerializer(allow_null=True)
    series = CitedSeriesSerializer(allow_null=True)
    a_timeline = FindingTimelineSerializer()
    b_timeline = FindingTimelineSerializer()


class ChangeSerializer(Body):
    """One subject in two judge runs; a side is null where the finding is new or gone."""

    change = serializers.ChoiceField([(c.value, c.words) for c in Change])
    before = FindingSerializer(allow_null=True)
    after = FindingSerializer(allow_null=True)


class ChangesSerializer(Body):
    """What became of each subject, over comparisons that both runs judged."""

    comparisons = serializers.IntegerField(
        allow_null=True, help_text="That both runs judged; null after the first page."
    )
    counts = serializers.DictField(
        child=serializers.IntegerField(),
        allow_null=True,
        help_text="Change → subjects, without the filter; null after the first page.",
    )
    next = serializers.CharField(
        allow_null=True, help_text="Ask again with `after` set to this; null after the last page."
    )
    results = ChangeSerializer(many=True)


class TimelineSerializer(Body):
    """A timeline of the case."""

    id = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # as above


class PlacedSerializer(Body):
    """A row of one timeline; hours from admission."""

    event = serializers.CharField()
    hours = serializers.FloatField(allow_null=True)
    lower = serializers.FloatField(allow_null=True)
    upper = serializers.FloatField(allow_null=True)
    uid = serializers.CharField(allow_null=True)
    absent = serializers.BooleanField()


class ComparedRowSerializer(Body):
    """One line of both timelines together. `how` says why the two rows match."""

    number = serializers.IntegerField()
    state = serializers.ChoiceField(["differs", "agrees", "only-a", "only-b"])
    how = serializers.CharField(allow_null=True)
    a = PlacedSerializer(allow_null=True)
    b = PlacedSerializer(allow_null=True)
    findings = serializers.ListField(child=serializers.CharField(), help_text="Public ids.")


class ComparisonSerializer(Body):
    """Two timelines of one case side by side, with one judge run's findings in place."""

    case = serializers.CharField()
    timelines = TimelineSerializer(many=True)
    a = TimelineSerializer()
    b = TimelineSerializer()
    runs = serializers.ListField(
        child=serializers.CharField(), help_text="Judge runs that judged these two, newest first."
    )
    run = serializers.CharField(allow_null=True)
    rows = ComparedRowSerializer(many=True)


class TableSerializer(Body):
    """A table. A cell is a text, a count, or a figure as {value, low, high, why}: with its interval
    if it has one, or null and why.
    """

    name = serializers.CharField()
    title = serializers.CharField()
    heads = serializers.ListField(child=serializers.CharField())
    rows = serializers.ListField(child=serializers.ListField(child=serializers.JSONField()))


class JudgeReportSerializer(Body):
    """What a judge run adds up to: ratings, error profile, sensitivity, strata, matchups,
    consistency.
    """

    run = serializers.CharField()
    tables = TableSerializer(many=True)


class GameDetailSerializer(GameSerializer):
    """With its findings."""

    told = FindingSerializer(many=True)


class JudgeRunPageSerializer(PageSerializer):
    """Judge runs."""

    results = JudgeRunSerializer(many=True)


class GamePageSerializer(Body):
    """So many games and where the next ones are."""

    next = serializers.CharField(
        allow_null=True, help_text="Ask again with `after` set to this; null after the last page."
    )
    results = GameSerializer(many=True)
