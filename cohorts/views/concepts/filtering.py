"""Show only the members of a concept that have some words.

The words are of a note or a record, so the session has them and no address does.
"""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import HttpResponse
from django.views.decorators.http import require_POST

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from cohorts.models import Concept, ConceptMember
from cohorts.views.concepts.shared import back_to, find_concept

SESSION_KEY = "concept_filter"
LONGEST = 200


@require_POST
@study_role_required(*CASE_READERS)
def concept_filter(request: StudyRequest, public_id: str) -> HttpResponse:
    """Store the words of the filter; empty words end it."""
    concept = find_concept(request, public_id)
    words = " ".join(request.POST.get("words", "").split())[:LONGEST]
    request.session[SESSION_KEY] = {"concept": concept.public_id, "words": words}
    return back_to(concept, request.GET.urlencode())


def read_filter(request: StudyRequest, concept: Concept) -> str:
    """Return the words that the person filters this concept by, or ""."""
    stored = request.session.get(SESSION_KEY, {})
    return str(stored["words"]) if stored.get("concept") == concept.public_id else ""


def keep_words(members: QuerySet[ConceptMember], words: str) -> QuerySet[ConceptMember]:
    """Return the members with each of these words, in any case."""
    for word in words.split():
        members = members.filter(words__icontains=word)
    return members
