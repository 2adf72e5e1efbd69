"""The list of cases, their timelines, entries and chains in the API.

Hours count from admission.
"""

from __future__ import annotations

from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DictField,
    FloatField,
    IntegerField,
    ListField,
)

from accounts.api_access.bodies import LocalTimeField, NextPage
from accounts.api_access.operations import Body
from timelines.api.choices import CASE_STATES, KINDS
from timelines.cases.listing import DEFAULT_SORT, SORTS

ANSWERS = ("yes", "no")


class CaseLine(Body):
    """A stay as the list of cases shows it."""

    id = CharField(source="encounter.public_id")
    dataset = CharField(source="encounter.dataset.public_id")
    case_id = CharField(source="encounter.case_id")
    title = CharField(source="row.title")
    admitted_at = LocalTimeField(source="encounter.admitted_at")
    discharged_at = LocalTimeField(source="encounter.discharged_at", allow_null=True)
    rows = IntegerField(source="row.rows")
    state = ChoiceField(
        CASE_STATES,
        allow_null=True,
        source="row.state",
        help_text="Of the run that is shown first; null if the case is closed to you.",
    )
    occurrences = IntegerField(allow_null=True, source="row.occurrences")


class CasePage(NextPage):
    """A page of cases."""

    results = CaseLine(many=True)


class CaseSearch(Body):
    """Filters and order of the list of cases, and searched text."""

    study = CharField(default="", allow_blank=True, max_length=20)
    text = CharField(
        default="", allow_blank=True, max_length=200, help_text="Case id or words of the title."
    )
    dataset = CharField(default="", allow_blank=True, max_length=20)
    state = ChoiceField(CASE_STATES, default="", allow_blank=True)
    answers = DictField(
        child=ChoiceField(ANSWERS),
        default=dict,
        help_text="Question → yes or no; the questions are the parameters of the list.",
    )
    sort = ChoiceField(sorted(SORTS), default=DEFAULT_SORT)
    limit = IntegerField(default=100, min_value=1, max_value=500)
    after = CharField(default="", allow_blank=True, max_length=20)


class CaseTimeline(Body):
    """One timeline of a case."""

    id = CharField(source="choice.public_id")
    label = CharField()  # type: ignore[assignment]  # the framework's fields have a label of their own
    source = CharField(source="choice.source")  # type: ignore[assignment]  # and a source
    kind = ChoiceField(KINDS, source="choice.kind")
    alternative = IntegerField(source="choice.alternative")
    run = CharField(allow_null=True, help_text="Public id of the run that made it.")
    study_timeline = BooleanField(help_text="Its run is the study timeline of the cohort.")
    curated = BooleanField(source="choice.is_curated", help_text="It has people's corrections.")
    first = BooleanField(help_text="Pages open it first.")


class CitedEvidence(Body):
    """A row that a time rests on, and how it was found."""

    row_index = IntegerField()
    event = CharField()
    value = CharField(allow_blank=True)
    unit = CharField(allow_blank=True)
    hours = FloatField()
    time_kind = CharField()
    query = CharField(allow_null=True)
    dense_rank = IntegerField(allow_null=True)
    dense_score = FloatField(allow_null=True)
    rerank_score = FloatField(allow_null=True)
    link = CharField(allow_blank=True)


class TimelineEntry(Body):
    """One occurrence of a timeline, with the columns of exported timelines."""

    case_id = CharField()
    source = CharField()  # type: ignore[assignment]  # the framework's fields have a source of their own
    kind = ChoiceField(KINDS)
    alternative = IntegerField()
    uid4 = CharField(allow_null=True)
    mention = CharField()
    start = IntegerField(allow_null=True)
    end = IntegerField(allow_null=True)
    time = FloatField(allow_null=True)
    lower = FloatField(allow_null=True)
    upper = FloatField(allow_null=True)
    known = IntegerField(allow_null=True)
    context = ListField(child=CharField())  # type: ignore[assignment]  # the framework's fields have a context of their own
    evidence = CitedEvidence(many=True)
    polarity = CharField(allow_null=True)
    lane = CharField(allow_null=True)
    rows = ListField(child=IntegerField())
    reason = CharField(allow_blank=True)
    decided_by = CharField(allow_blank=True)
    confidence = FloatField(allow_null=True)
    near_rows = ListField(child=IntegerField())
    span_text = CharField(allow_null=True, help_text="The note's own words; null without `text=1`.")


class EntryPage(NextPage):
    """A page of entries, in the order of the note."""

    results = TimelineEntry(many=True)


class ChainSpan(Body):
    """Where the note mentions it: code points, end-exclusive."""

    start = IntegerField()
    end = IntegerField()
    sentence = CharField()


class ChainEstimate(Body):
    """The time from the note alone."""

    time = FloatField(allow_null=True)
    lower = FloatField(allow_null=True)
    upper = FloatField(allow_null=True)
    known = IntegerField(allow_null=True)
    context = ListField(child=CharField())  # type: ignore[assignment]  # as above
    decided_by = CharField(allow_blank=True)
    reason = CharField(allow_blank=True)


class ChainSeries(Body):
    """A series that a query returned; `fate` says what became of it."""

    event = CharField()
    dense_rank = IntegerField()
    dense_score = FloatField()
    rerank_score = FloatField(allow_null=True)
    kept = BooleanField()
    fate = CharField(allow_null=True, allow_blank=True)


class ChainQuery(Body):
    """A query and what it returned."""

    text = CharField()
    series = ChainSeries(many=True)


class ChainRow(Body):
    """A row that reached the occurrence; `query` is the query's number."""

    row_index = IntegerField()
    event = CharField()
    value = CharField(allow_blank=True)
    unit = CharField(allow_blank=True)
    hours = FloatField(allow_null=True)
    time_kind = CharField()
    query = IntegerField(allow_null=True)


class ChainFinal(Body):
    """The time in this timeline, and the rows that it rests on."""

    time = FloatField(allow_null=True)
    lower = FloatField(allow_null=True)
    upper = FloatField(allow_null=True)
    rows = ListField(child=IntegerField())
    decided_by = CharField(allow_blank=True)


class ChainLinks(Body):
    """Span → UID → first estimate → queries → rows → final time."""

    span = ChainSpan(allow_null=True)
    uid4 = CharField(allow_null=True)
    first_estimate = ChainEstimate(allow_null=True)
    queries = ChainQuery(many=True)
    rows = ChainRow(many=True)
    final = ChainFinal()


class EntryChain(TimelineEntry):
    """An entry with the chain behind its time."""

    chain = ChainLinks()
