"""Findings of the judge, validated and charged."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from adjudication.domain import FindingPolarity, FindingType, Grounding, Relation, Verdict
from adjudication.models.judge_runs import Game, JudgeRun
from adjudication.scoring.errors import Category
from ehr.models import EventSeries
from timelines.models import Entry

CHOICES_OF_TYPE = [(t.value, t.value) for t in FindingType]


CHOICES_OF_VERDICT = [(v.value, v.value) for v in Verdict]


class Finding(models.Model):
    """One validated finding of a game, in the judge's own labels.

    `adjudication.domain.Finding` describes its fields.
    """

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    game = models.ForeignKey(Game, on_delete=models.CASCADE, related_name="findings")
    ordinal = models.PositiveIntegerField()
    type = models.CharField(max_length=20, choices=CHOICES_OF_TYPE)
    verdict = models.CharField(max_length=10, choices=CHOICES_OF_VERDICT)
    polarity = models.CharField(
        max_length=10, choices=[(p.value, p.value) for p in FindingPolarity]
    )
    a_event = models.TextField(null=True)
    a_time = models.IntegerField(null=True)
    b_event = models.TextField(null=True)
    b_time = models.IntegerField(null=True)
    a_row = models.PositiveIntegerField(null=True)
    b_row = models.PositiveIntegerField(null=True)
    #: The entries behind the rows.
    a_entry = models.ForeignKey(Entry, null=True, on_delete=models.CASCADE, related_name="+")
    b_entry = models.ForeignKey(Entry, null=True, on_delete=models.CASCADE, related_name="+")
    note_evidence = models.TextField(null=True)
    #: Position of the quote in the note: code points, end-exclusive.
    note_start = models.PositiveIntegerField(null=True)
    note_end = models.PositiveIntegerField(null=True)
    table_evidence = models.TextField(null=True)
    series = models.ForeignKey(EventSeries, null=True, on_delete=models.SET_NULL, related_name="+")
    grounding = models.CharField(max_length=10, choices=[(g.value, g.value) for g in Grounding])
    relation = models.CharField(
        max_length=20, choices=[(r.value, r.value) for r in Relation], null=True
    )
    reason = models.TextField(blank=True)
    #: A TIMING finding within the tolerance. It counts; ratings are also shown without these.
    flagged = models.BooleanField(default=False)
    #: The charge after unblinding (`scoring.errors.charge`): which error, and whether the
    #: comparison's first timeline made it.
    category = models.CharField(
        max_length=20, choices=[(c.value, c.value) for c in Category], blank=True
    )
    charged_first = models.BooleanField(null=True)
    #: Identifies the subject in another judging, independently of judge and labels
    #: (`adjudication.judge_runs.storage.hash_subject`).
    subject_sha256 = models.CharField(max_length=64, db_index=True)
    #: For lists of a million findings, filled by a trigger (`migrations/sql/listing.sql`): the run
    #: and case of the game, everything that a list filters by (`adjudication.findings.facets`),
    #: and the whole hours between the times of both rows.
    run = models.ForeignKey(
        JudgeRun,
        null=True,
        editable=False,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="+",
    )
    case = models.CharField(max_length=100, editable=False, blank=True)
    facet = models.CharField(max_length=100, editable=False, blank=True)
    apart = models.IntegerField(null=True, editable=False)

    class Meta:
        ordering = ["game_id", "ordinal"]
        constraints = [
            models.UniqueConstraint(fields=["game", "ordinal"], name="finding_ordinal_once"),
            models.CheckConstraint(
                condition=~Q(type="SHARED_UNSUPPORTED") | Q(verdict="NEITHER"),
                name="shared_unsupported_is_neither",
            ),
            models.CheckConstraint(
                condition=~Q(type__in=["A_ONLY", "B_ONLY"]) | ~Q(verdict__in=["BOTH", "NEITHER"]),
                name="one_sided_not_both_or_neither",
            ),
            models.CheckConstraint(
                condition=Q(type="A_ONLY", a_event__isnull=False, b_event__isnull=True)
                | Q(type="B_ONLY", a_event__isnull=True, b_event__isnull=False)
                | (
                    Q(type="DUPLICATE")
                    & (
                        Q(a_event__isnull=True, b_event__isnull=False)
                        | Q(a_event__isnull=False, b_event__isnull=True)
                    )
                )
                | Q(
                    type__in=["VALUE", "TIMING", "SHARED_UNSUPPORTED"],
                    a_event__isnull=False,
                    b_event__isnull=False,
                ),
                name="finding_sides_fit_type",
            ),
            models.CheckConstraint(
                condition=Q(type__in=["A_ONLY", "B_ONLY"], relation__isnull=False)
                | (~Q(type__in=["A_ONLY", "B_ONLY"]) & Q(relation__isnull=True)),
                name="relation_iff_one_sided",
            ),
            models.CheckConstraint(
                condition=(
                    Q(verdict__in=["A", "B"]) & ~Q(category="") & Q(charged_first__isnull=False)
                )
                | (~Q(verdict__in=["A", "B"]) & Q(category="", charged_first__isnull=True)),
                name="decisive_iff_charged",
            ),
            models.CheckConstraint(
                condition=Q(note_start__isnull=True, note_end__isnull=True)
                | Q(note_start__lt=F("note_end")),
                name="quote_span_is_ordered",
            ),
        ]
        indexes = [
            models.Index(fields=["run", "facet"], name="finding_by_facet"),
            models.Index(fields=["run", "game", "ordinal"], name="finding_in_order"),
            models.Index(fields=["run", "case", "game", "ordinal"], name="finding_by_case"),
            # With the facet, a list by size reads no finding that its filter leaves out.
            models.Index(fields=["run", "apart", "id"], include=["facet"], name="finding_by_hours"),
        ]


class FindingCount(models.Model):
    """A change of a judge run's number of findings of one facet.

    The sum of the rows is the count, as for `JudgeCount`; triggers add and fold them.
    """

    run = models.ForeignKey(
        JudgeRun, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+"
    )
    facet = models.CharField(max_length=100)
    n = models.IntegerField()
