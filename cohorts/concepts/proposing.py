"""Let the rules of a study's concepts propose members, in a job."""

from __future__ import annotations

from django.db import transaction

from accounts.models import Study
from cohorts.concepts.actions import propose
from cohorts.concepts.matching import find_by_rule
from cohorts.concepts.values import Rule
from cohorts.models import Concept, ConceptProposing, ConceptRule
from jobs.hints import send_hints
from jobs.leases.hold import Hold, write_guard
from jobs.models import JobState
from jobs.worker import work


@transaction.atomic
def start_proposing(study: Study) -> ConceptProposing | None:
    """Queue the job of a study that has living rules, once."""
    if not find_living_rules(study):
        return None
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    jobs = ConceptProposing.objects.filter(study=study)
    job = jobs.filter(state=JobState.QUEUED).first()
    if job is None:
        job = ConceptProposing.objects.create(study=study)
        send_hints(ConceptProposing, [job.pk])
    return job


def execute_proposing(job_id: int) -> JobState | None:
    """Propose if the job waits; return its new state.

    None if there was nothing to do.
    """
    return work(ConceptProposing, job_id, _propose)


def _propose(job: ConceptProposing, hold: Hold) -> None:
    with write_guard(hold):
        propose_by_rules(job.study)
        ConceptProposing.objects.filter(study=job.study, finished_at__isnull=False).delete()


def propose_by_rules(study: Study) -> int:
    """Propose what all living rules find; return how many members are new."""
    new = 0
    for rule in find_living_rules(study):
        read = Rule(rule.kind, rule.value, tuple(rule.polarities), tuple(rule.lanes))
        found = find_by_rule(rule.concept, read, ())
        new += propose(concept=rule.concept, found=found, by=None)
    return new


def find_living_rules(study: Study) -> list[ConceptRule]:
    """Return the rules that have not ended, of concepts that are not archived."""
    concepts = Concept.objects.filter(study=study, archived_at__isnull=True)
    rules = ConceptRule.objects.filter(concept__in=concepts, ended_at__isnull=True)
    return list(rules.select_related("concept__study"))
