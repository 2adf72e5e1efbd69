"""Concepts in the API: members, rules, versions, files."""

from __future__ import annotations

from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    DictField,
    IntegerField,
    ListField,
)

from accounts.api_access.bodies import Page
from accounts.api_access.operations import Body, make_choices
from cohorts.api.choices import MEMBER_KINDS, MEMBER_STATES, RULE_KINDS
from cohorts.concepts.values import LONGEST_NAME, LONGEST_VALUE
from timelines.domain import Lane, Polarity

POLARITIES = make_choices(Polarity)
LANES = make_choices(Lane)


class Concept(Body):
    """A reviewed set of mentions and series.

    Counts are over cases that are open to you.
    """

    id = CharField(source="concept.public_id")
    study = CharField(source="concept.study.public_id")
    name = CharField(source="concept.name")
    description = CharField(allow_blank=True, source="concept.description")
    accepted = IntegerField(help_text="Accepted members.")
    waiting = IntegerField(help_text="Proposed members that nobody has answered.")
    stays = IntegerField(help_text="Stays with an accepted mention.")
    version = IntegerField(allow_null=True, help_text="The newest; null without one or if closed.")
    uses = IntegerField(help_text="Analyses that use a version.")


class ConceptPage(Page):
    """Concepts by study and name."""

    results = Concept(many=True)


class ConceptRule(Body):
    """What proposes members, also when data arrive later."""

    id = CharField(source="public_id")
    kind = ChoiceField(RULE_KINDS)
    value = CharField()
    polarities = ListField(child=CharField())
    lanes = ListField(child=CharField())


class ConceptVersionLine(Body):
    """A version without its members."""

    number = IntegerField()
    sha256 = CharField()
    members = IntegerField(help_text="How many.")
    created_at = DateTimeField()
    created_by = CharField(allow_null=True, source="created_by.get_username", default=None)


class ConceptDetail(Concept):
    """A concept with its rules and versions."""

    rules = ConceptRule(many=True)
    closed = BooleanField(help_text="Versions are closed to you: a case of the study is.")
    versions = ConceptVersionLine(many=True, help_text="Newest first; none while closed.")


class FrozenMember(Body):
    """A member of a version."""

    kind = ChoiceField(MEMBER_KINDS)
    key = CharField(help_text="The MD5 of the words in lower case, or the name of the series.")
    polarity = CharField(allow_blank=True, help_text="Empty for a series.")
    words = CharField()


class ConceptVersion(Body):
    """The accepted members at one moment."""

    concept = CharField(source="concept.public_id")
    number = IntegerField()
    sha256 = CharField(allow_blank=True)
    members = FrozenMember(many=True)
    created_at = DateTimeField()
    created_by = CharField(allow_null=True, source="created_by.get_username", default=None)


class MemberSentence(Body):
    """A sentence with the mention, of a case that is open to you."""

    case = CharField()
    uid = CharField(source="uid4", allow_blank=True)
    sentence = CharField(source="text")


class ConceptMemberLine(Body):
    """A mention or series with counts over open cases, and sentences."""

    id = CharField(source="member.public_id")
    kind = ChoiceField(MEMBER_KINDS, source="member.kind")
    words = CharField(source="member.words")
    polarity = CharField(allow_blank=True, source="member.polarity")
    state = ChoiceField(MEMBER_STATES, source="member.state")
    found_by = CharField(source="member.found_by")
    occurrences = IntegerField(source="counts.occurrences")
    stays = IntegerField(source="counts.stays")
    sentences = MemberSentence(many=True, source="quotes")


class ConceptMemberPage(Page):
    """Members by words."""

    results = ConceptMemberLine(many=True)


class ConceptStart(Body):
    """A concept without members."""

    study = CharField(default="", allow_blank=True, max_length=20)
    name = CharField(max_length=LONGEST_NAME)
    description = CharField(default="", allow_blank=True, max_length=2000)


class ConceptImport(Body):
    """A concept as a file, and whether its answers count as yours."""

    study = CharField(default="", allow_blank=True, max_length=20)
    content = DictField(help_text="What `export` returns.")
    accept = BooleanField(
        default=False, help_text="Accept and reject new members as the file does."
    )


class Proposed(Body):
    """How many members were proposed."""

    concept = CharField()
    new = IntegerField()


class RuleStart(Body):
    """A rule; it proposes what it finds now, and again when data arrive."""

    kind = ChoiceField(RULE_KINDS)
    value = CharField(max_length=LONGEST_VALUE)
    polarities = ListField(child=ChoiceField(POLARITIES), default=[Polarity.PRESENT.value])
    lanes = ListField(child=ChoiceField(LANES), default=list)


class MemberDecision(Body):
    """An answer to proposed members."""

    members = ListField(child=CharField(max_length=20), min_length=1, max_length=2000)
    accepted = BooleanField()
    reason = CharField(default="", allow_blank=True, max_length=2000)


class MembersDecided(Body):
    """How many members have another state now."""

    count = IntegerField()


class FileRule(Body):
    """A rule in a file."""

    kind = ChoiceField(RULE_KINDS)
    value = CharField()
    polarities = ListField(child=CharField())
    lanes = ListField(child=CharField())


class FileMember(Body):
    """A member in a file."""

    kind = ChoiceField(MEMBER_KINDS)
    words = CharField()
    polarity = CharField(allow_blank=True)
    state = ChoiceField(MEMBER_STATES)


class FileVersion(Body):
    """The newest version at the time of the export."""

    number = IntegerField()
    sha256 = CharField(allow_blank=True)


class ConceptFile(Body):
    """A concept for another study or server."""

    occurrent_concept = IntegerField(help_text="The version of the format.")
    name = CharField()
    description = CharField(allow_blank=True)
    rules = FileRule(many=True)
    members = FileMember(many=True)
    version = FileVersion(allow_null=True)
