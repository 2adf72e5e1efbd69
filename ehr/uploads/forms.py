"""The forms of imports: bring files; say what they are and where they go."""

from __future__ import annotations

import re
from typing import Any

from django import forms

from accounts.models import Study
from ehr.formats.base import FormatError
from ehr.formats.mapping import (
    CODE_FORMATS,
    COLUMN_FORMATS,
    COLUMNS,
    PATTERN_FORMATS,
    RULE_FORM,
    parse_mapping,
    parse_rules,
)
from ehr.ingest.sources import FORMAT_WORDS
from ehr.models import SavedMapping, Upload
from ehr.uploads.folders import list_folders

COLUMN = "column_"
DELETE_AUTHORED = "Also delete timelines, corrections, comments and flags that people wrote"
COLUMN_HELP = {
    "t": "the time",
    "event": "the name of what happened",
    "value": "its value",
    "unit": "the unit",
    "source": "the table it came from",
    "time_kind": "the kind of time",
}


class FolderForm(forms.Form):
    """The choice of a folder of the server."""

    folder = forms.ChoiceField(required=False, label="Folder of the server")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        keys = [folder.key for folder in list_folders()]
        self.fields["folder"].choices = [("", "none"), *zip(keys, keys, strict=True)]  # type: ignore[attr-defined]

    @property
    def has_folders(self) -> bool:
        """Whether the operator allowed any folder."""
        return len(self.fields["folder"].choices) > 1  # type: ignore[attr-defined]


class SettingsForm(forms.Form):
    """Format and mapping of an upload, and the name of its dataset.

    It has the fields of the mapping that the upload's format knows.
    """

    format = forms.ChoiceField(choices=[("", "choose"), *FORMAT_WORDS.items()])

    def __init__(self, data: Any, *, upload: Upload, study: Study, columns: list[str]) -> None:
        super().__init__(data, initial={"format": upload.format})
        self._shown = upload.format
        self.importing = data is not None and "import" in data
        values = upload.mapping
        if upload.format in PATTERN_FORMATS:
            self.fields["pattern"] = forms.CharField(
                required=False,
                max_length=300,
                label="Pattern of the files' names",
                initial=values.get("pattern", ""),
                help_text="Such as {case}__{time}__{kind}; also {admitted}. Empty: the usual names.",
            )
        if upload.format in COLUMN_FORMATS:
            self._add_columns(dict(values.get("columns", [])), columns)
        if upload.format in CODE_FORMATS:
            self._add_codes(values.get("codes", []))
        self._add_saving(study)
        self.fields["name"] = forms.CharField(
            required=False,
            max_length=200,
            label="Name of the dataset",
            initial=_suggest_name(upload),
        )
        self.fields["replace"] = forms.BooleanField(
            required=False,
            label="Replace cases whose files changed (their timelines are deleted)",
        )
        self.fields["delete_authored"] = forms.BooleanField(
            required=False, label=f"{DELETE_AUTHORED} of the replaced cases"
        )

    def _add_columns(self, mapped: dict[str, str], columns: list[str]) -> None:
        for ours in COLUMNS:
            known = [("", f"{ours}, as it is"), *((c, c) for c in columns if c != ours)]
            self.fields[COLUMN + ours] = forms.ChoiceField(
                required=False,
                choices=known,
                label=f"Column {ours}",
                initial=mapped.get(ours, ""),
                help_text=COLUMN_HELP[ours].capitalize() + ".",
            )

    def _add_codes(self, codes: list[dict[str, str]]) -> None:
        lines = [f"{c['pattern']} = {c['event']} | {c['kind']}" for c in codes]
        self.fields["codes"] = forms.CharField(
            required=False,
            max_length=500_000,
            label="Meanings of codes",
            initial="\n".join(lines),
            widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
            help_text=(
                f"One on each line: {RULE_FORM}. A star fits anything; {{1}} is what it fits."
                " Texts of the category note are notes: TEXT//* = note:{1}:"
            ),
        )

    def _add_saving(self, study: Study) -> None:
        if not self.mapping_fields:
            return
        saved = SavedMapping.objects.filter(study=study, format=self._shown)
        if saved.exists():
            self.fields["saved"] = forms.ModelChoiceField(
                saved,
                required=False,
                to_field_name="name",
                label="Use a saved mapping",
                empty_label="none",
            )
            self.fields["saved"].label_from_instance = lambda one: one.name  # type: ignore[attr-defined]
        self.fields["save_as"] = forms.CharField(
            required=False, max_length=100, label="Save this mapping as"
        )

    @property
    def mapping_fields(self) -> list[forms.BoundField]:
        """The fields of the mapping, for the page."""
        ours = ("pattern", "codes", "saved", "save_as")
        return [self[n] for n in self.fields if n in ours or n.startswith(COLUMN)]

    def clean(self) -> dict[str, Any]:
        """Check the mapping of the chosen format."""
        data = super().clean() or {}
        if self.importing and not data.get("name"):
            self.add_error("name", "Enter a name for the dataset.")
        try:
            data["mapping"] = self._read_mapping(data)
        except FormatError as error:
            self.add_error(None, str(error))
        return data

    def _read_mapping(self, data: dict[str, Any]) -> dict[str, Any]:
        if data.get("format") != self._shown:
            return {}
        if data.get("saved"):
            return dict(data["saved"].values)
        columns = [(ours, data[COLUMN + ours]) for ours in COLUMNS if data.get(COLUMN + ours)]
        rules = parse_rules(data.get("codes") or "")
        codes = [{"pattern": r.pattern, "event": r.event, "kind": r.kind.value} for r in rules]
        values = {"pattern": data.get("pattern") or "", "columns": columns, "codes": codes}
        return parse_mapping(self._shown, values).as_values() if self._shown else {}


def _suggest_name(upload: Upload) -> str:
    """Return the name of the latest import, else that of the files.

    A number of files is no name.
    """
    earlier = upload.jobs.exclude(name="").first()
    if earlier:
        return earlier.name
    several = re.fullmatch(r"\d+ files", upload.title)
    return "" if several else upload.title.removesuffix(".zip")


class DeletionForm(forms.Form):
    """The typed confirmation of a deletion."""

    confirmed = forms.CharField(
        max_length=200,
        strip=False,
        label="Type the name of the dataset to confirm",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    delete_authored = forms.BooleanField(required=False, label=DELETE_AUTHORED)
