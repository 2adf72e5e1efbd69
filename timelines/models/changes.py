"""What the home page lists without reading every timeline."""

from __future__ import annotations

from django.db import models

from timelines.models.inventories import Occurrence
from timelines.models.runs import CaseRun, Run


class UnexplainedChange(models.Model):
    """The largest change of a case that cites no row of the record.

    Stored with the revised times of a run (`timelines.pipeline.changes`), so that the largest of
    100,000 cases are read from an index.
    """

    case_run = models.OneToOneField(
        CaseRun, on_delete=models.CASCADE, related_name="unexplained_change"
    )
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+", db_index=False)
    occurrence = models.ForeignKey(Occurrence, on_delete=models.CASCADE, related_name="+")
    #: How far the time moved.
    hours = models.FloatField()
    #: The same in tolerances, by which changes are sorted.
    weight = models.FloatField()

    class Meta:
        indexes = [models.Index(fields=["run", "-weight"], name="largest_change_of_run")]
