"""Imports in the API: what was brought, its checks and its import."""

from __future__ import annotations

from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    DictField,
    FileField,
    IntegerField,
    JSONField,
    ListField,
)

from accounts.api_access.bodies import Page
from accounts.api_access.operations import Body, make_choices
from ehr.formats.mapping import MAPPED_FORMATS
from jobs.models import JobState


class DataJob(Body):
    """A check, an import or a deletion as a job."""

    id = CharField(source="job.public_id")
    state = ChoiceField(JobState.choices, source="job.state")
    state_words = CharField(source="line.state")
    percent = IntegerField(source="line.percent")
    time_left = CharField(source="line.words", allow_blank=True)
    active = BooleanField(source="line.active", help_text="It may still change by itself.")
    paused = BooleanField(source="line.paused")
    warning = CharField(
        source="line.warning", allow_blank=True, help_text="A message if no worker takes it."
    )
    reasons = ListField(child=CharField(), source="job.reasons", help_text="Why attempts failed.")


class ImportJob(DataJob):
    """A check or an import of what was brought."""

    task = CharField(source="job.kind", help_text="`check` or `import`.")
    name = CharField(source="job.name", allow_blank=True, help_text="Of the dataset.")
    dataset = CharField(source="job.dataset.public_id", allow_null=True, default=None)
    counts = DictField(
        child=IntegerField(),
        help_text="Import: imported, unchanged, refused, rows, … Check: stays, notes, rows, faults, …",
    )


class Import(Body):
    """Files or a folder of the server that were brought."""

    id = CharField(source="upload.public_id")
    study = CharField(source="upload.study.public_id")
    title = CharField(source="upload.title")
    files = IntegerField(source="upload.files")
    size = IntegerField(source="upload.bytes", help_text="Bytes.")
    format = CharField(source="upload.format", allow_blank=True, help_text="Empty: none was found.")
    recognised = CharField(
        source="upload.recognised", allow_blank=True, help_text="Why it is this format."
    )
    created_at = DateTimeField(source="upload.created_at")
    removed_at = DateTimeField(
        source="upload.removed_at", allow_null=True, help_text="When the files were removed."
    )
    job = ImportJob(allow_null=True, help_text="The latest check or import.")


class ImportPage(Page):
    """Imports, newest first."""

    results = Import(many=True)


class ImportDetail(Import):
    """One import with its mapping, its preview and the first faults."""

    mapping = DictField(source="upload.mapping", help_text="As chosen last.")
    preview = DictField(
        allow_null=True,
        help_text="Of the latest good check: the first stays, events, what is unknown. Else null.",
    )
    faults = ListField(
        child=DictField(child=CharField(allow_blank=True)),
        help_text="The first faults of the latest job: file, line, field, case_id, reason.",
    )


class ImportFolder(Body):
    """A folder of the server that the operator allowed (IMPORT_FOLDERS)."""

    folder = CharField(max_length=1000)


class ImportFiles(Body):
    """Files of one format, or one zip of them."""

    files = ListField(child=FileField())
    paths = CharField(
        required=False,
        help_text="JSON list of the files' names with folders, in the same order.",
    )


class ImportSettings(Body):
    """How the files are read."""

    format = CharField(
        required=False, max_length=20, help_text="By default the recognised or last chosen one."
    )
    mapping = DictField(
        required=False,
        child=JSONField(allow_null=True),
        help_text="`pattern`, `columns` or `codes`; by default the one chosen last.",
    )
    saved = CharField(
        required=False, max_length=100, help_text="A saved mapping's name, instead of `mapping`."
    )


class ImportStart(ImportSettings):
    """How the files are read, and where they go."""

    name = CharField(max_length=200, help_text="An existing name adds stays to that dataset.")
    replace = BooleanField(
        default=False,
        help_text="Replace cases whose files changed; their timelines are deleted.",
    )
    delete_authored = BooleanField(
        default=False,
        help_text="With `replace`: also delete what people wrote of these cases.",
    )


class Mapping(Body):
    """A mapping that a study has saved under a name, for one format."""

    id = IntegerField(source="pk")
    study = CharField(source="study.public_id")
    format = CharField()
    name = CharField()
    mapping = DictField(source="values", child=JSONField())
    created_at = DateTimeField()


class MappingPage(Page):
    """Saved mappings by name."""

    results = Mapping(many=True)


class NewMapping(Body):
    """A mapping to save. An earlier one of that name and format is replaced."""

    format = ChoiceField(make_choices(MAPPED_FORMATS))
    name = CharField(max_length=100)
    mapping = DictField(child=JSONField(), help_text="`pattern`, `columns` or `codes`.")
