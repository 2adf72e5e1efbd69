"""Responses of the API to exceptions of this app."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from accounts.api_access.errors import Build, Refusal, build_refused
from timelines.access.asking import AskFirst
from timelines.drafts.values import EditRefused
from timelines.evaluations.actions import EvaluationRefused
from timelines.exports.actions import ExportRefused
from timelines.pipeline.config import ConfigError
from timelines.runs.actions import RunRefused
from timelines.runs.language_models import UnknownModel
from timelines.runs.storage import NoteChanged
from timelines.runs.study_timeline.actions import ChoiceRefused

#: An API shows cases and items alike, so the words name neither.
NOTE_CHANGED = (
    "This cannot be shown: the note of its case was changed after the import. Report this to your"
    " study admin."
)


def _build_question(error: AskFirst) -> Refusal:
    return Refusal(HTTPStatus.FORBIDDEN, "ask_first", str(error))


def _build_note_changed(error: NoteChanged) -> Refusal:
    return Refusal(HTTPStatus.CONFLICT, "note_changed", NOTE_CHANGED)


REFUSALS: Mapping[type[Exception], Build] = {
    AskFirst: _build_question,
    NoteChanged: _build_note_changed,
    ChoiceRefused: build_refused,
    ConfigError: build_refused,
    EditRefused: build_refused,
    EvaluationRefused: build_refused,
    ExportRefused: build_refused,
    RunRefused: build_refused,
    UnknownModel: build_refused,
}
