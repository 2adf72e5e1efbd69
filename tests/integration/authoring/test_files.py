"""A clinician's timeline is exported and imported without loss.

Every format is covered.
"""

import io
import zipfile
from pathlib import Path

import pytest
from django.urls import reverse

from accounts.models import AuditEvent
from tests import factories
from tests.worlds.authored import NOTE, Page, make_author, make_case, make_draft
from timelines.authoring.download import FORMATS
from timelines.domain import TimelineKind
from timelines.models import Authoring, Entry, Timeline
from timelines.transfer.storing import Wanted, import_foreign

pytestmark = pytest.mark.django_db
FIELDS = (
    *(
        "occurrence__uid4",
        "occurrence__ordinal",
        "occurrence__mention",
        "occurrence__start",
        "occurrence__end",
        "occurrence__polarity",
    ),
    *(
        "occurrence__lane",
        "time",
        "lower",
        "upper",
        "known",
        "context",
        "adopted_rows",
        "decided_by",
        "reason",
    ),
)


@pytest.fixture
def tab():
    """A submitted timeline with everything that a timeline can hold."""
    encounter = make_case()
    tab = Page(make_draft(encounter, make_author(encounter, username="ana")))
    row = factories.make_row(encounter, "procedure:ct head:start", 1.5, value="done")
    bleed = tab.add(
        "CT showed a bleed",
        time=1.5,
        lower=1.0,
        upper=2.0,
        known=True,
        rows=[row.row_index],
        reason='row | "CT" \\ 😀',
    )
    tab.add(
        "Fell at home",
        mention='so-called "fall" | at \\ home',
        time=None,
        context=[bleed],
        lane="history",
    )
    tab.add("Fever for three days", time_text="between -96 and -48", polarity="absent")
    tab.add("andexanet alfa 😀 in the ED", time_text="~ HD 1", lane="medication")
    tab.post("submit", {"revision": tab.revision})
    return tab


def download(tab: Page, format: str):
    return tab.client.get(reverse("timelines:authoring_download", args=[tab.id, format]))


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_brings_it_back(tab, format, tmp_path):
    answer = download(tab, format)
    assert answer.status_code == 200
    name = answer["Content-Disposition"].partition("filename=")[2].strip('"')
    assert name.startswith(f"timeline-{tab.id}-{format}.")
    path: Path = tmp_path / f"timeline.{name.rpartition('.')[2]}"
    path.write_bytes(answer.content)
    if name.endswith(".zip"):
        path = tmp_path / "files"
        zipfile.ZipFile(io.BytesIO(answer.content)).extractall(path)
    encounter = Authoring.objects.get().encounter
    report = import_foreign(
        dataset=encounter.dataset,
        path=path,
        format=format,
        wanted=Wanted("ana again", kind=TimelineKind.REFERENCE),
    )
    assert not report.faults, report.lines()
    back = Timeline.objects.get(source="ana again")
    mine = Entry.objects.filter(timeline__source="author:ana").order_by("occurrence__ordinal")
    theirs = Entry.objects.filter(timeline=back).order_by("occurrence__ordinal")
    assert list(theirs.values_list(*FIELDS)) == list(mine.values_list(*FIELDS))
    assert AuditEvent.objects.get(action="authoring.download").detail["format"] == format


def test_there_is_no_file_before_a_submission_nor_of_an_unknown_format(tab):
    assert download(tab, "exe").status_code == 404
    encounter = Authoring.objects.get().encounter
    other = Page(make_draft(encounter, make_author(encounter)))
    assert download(other, "jsonl").status_code == 404


def test_a_draft_open_again_still_gives_what_was_submitted(tab):
    before = download(tab, "jsonl").content
    answer = tab.post("reopen", {"reason": "r"}).json()
    tab.revision = answer["revision"]
    tab.add("Discharged home", NOTE, time=90)
    assert download(tab, "jsonl").content == before
