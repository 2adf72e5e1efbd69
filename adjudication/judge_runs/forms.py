"""The form that starts a judge run. Defaults are the protocol's."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from django import forms
from django.db.models import Count

from accounts.models import Study
from adjudication.judge_runs.data import find_sources
from adjudication.judge_runs.tools import PROMPTED, RULES
from adjudication.judging.config import SEED, JudgeConfig, preset_config
from adjudication.judging.validation import FIXED_TOLERANCE, TOLERANCE, Tolerance
from ehr.models import Dataset, Encounter
from ehr.presentation.rendering import JUDGE_SERIES
from timelines.access.authoring import is_superseded
from timelines.access.references import ANY_CONSENSUS
from timelines.evaluation.naming import split_source
from timelines.evaluation.values import SourceKey
from timelines.evaluations.forms import CohortsField
from timelines.runs import tools

JUDGES = (
    (
        RULES,
        (
            "Rules: decides from note and rows on this machine, and abstains if the evidence is"
            " not clear"
        ),
    ),
    (
        PROMPTED,
        "Language model: one call per game, its answer validated with note, rows and timelines",
    ),
)
TOLERANCES = (
    ("scaled", "3 h, or a tenth of the distance from admission if that is more"),
    ("fixed", "3 h everywhere"),
)
SERIES_MOST = 10_000
PRESETS = (
    ("default", "default: hours from admission, invalid findings asked for again"),
    ("published", "published: as in the paper"),
)
_AS_PRESET = ("", "as the preset")
RECORD_TIMES = (
    _AS_PRESET,
    ("hours", "Hours from admission"),
    ("iso", "Calendar moments, as published"),
)
UID_TABLES = (
    _AS_PRESET,
    (str(True), "Show identifiers, bounds and spans, as published"),
    (str(False), "Show event and time alone"),
)
REPAIRS = (
    _AS_PRESET,
    ("findings", "Ask again for the invalid findings; valid ones stay"),
    ("answer", "Reject the whole answer, as published"),
)
#: Fields of the section "Advanced"; those that are left empty have the preset's value.
ADVANCED = (
    *("record_times", "repair", "series_limit", "attempts", "tolerance_hours", "tolerance_share"),
    "seed",
)


class JudgeForm(forms.Form):
    """Cohorts, sources, judge and settings."""

    datasets = CohortsField(
        Dataset.objects.none(),
        to_field_name="public_id",
        widget=forms.CheckboxSelectMultiple,
        label="Cohorts",
    )
    sources = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        label="Timelines to compare",
        help_text=(
            "Each pair of timelines is compared once per case that has both. The judge never sees"
            " their sources."
        ),
    )
    judge = forms.ChoiceField(choices=JUDGES, widget=forms.RadioSelect, initial=RULES)
    model = forms.ChoiceField(
        required=False,
        label="Language model",
        help_text="For the language model judge. The Models page shows which can be reached.",
    )
    preset = forms.ChoiceField(
        choices=PRESETS,
        initial="default",
        required=False,
        help_text="Settings in the section “Advanced” replace those of the preset.",
    )
    swap = forms.BooleanField(
        required=False,
        label="Judge every game a second time with A and B exchanged",
        help_text="Shows how much the answers depend on position. Doubles the work.",
    )
    uid_table = forms.TypedChoiceField(
        choices=UID_TABLES,
        coerce=str(True).__eq__,
        empty_value=None,
        required=False,
        label="Identifiers and spans",
        help_text=(
            "Default without them; published with them. They pair occurrences first. A source"
            " without identifiers has empty columns."
        ),
    )
    tolerance = forms.ChoiceField(
        choices=TOLERANCES, initial="scaled", label="Times count as equal within"
    )
    record_times = forms.ChoiceField(
        choices=RECORD_TIMES,
        required=False,
        label="Times in the record",
        help_text="Default hours; published calendar moments. For the language model judge.",
    )
    repair = forms.ChoiceField(
        choices=REPAIRS,
        required=False,
        label="If some findings of an answer are invalid",
        help_text=(
            "Default: ask again for the invalid ones; published: reject the answer. For the"
            " language model judge."
        ),
    )
    attempts = forms.IntegerField(
        min_value=1,
        required=False,
        label="Attempts at one game",
        help_text=f"Default {JudgeConfig().attempts}. For the language model judge.",
    )
    tolerance_hours = forms.FloatField(
        min_value=0,
        required=False,
        label="Tolerance in hours",
        help_text=f"Times nearer than this count as equal. Default {TOLERANCE.least:g}.",
    )
    tolerance_share = forms.FloatField(
        min_value=0,
        max_value=1,
        required=False,
        label="Tolerance as a share of the distance from admission",
        help_text=f"Default {TOLERANCE.share:g}; 0 with “3 h everywhere”.",
    )
    series_limit = forms.IntegerField(
        min_value=1,
        max_value=SERIES_MOST,
        initial=JUDGE_SERIES,
        required=False,
        label="Series of the record, at most",
        help_text="Fewer are shown if they do not fit the model's context.",
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=2**62,
        initial=SEED,
        help_text="Decides which timeline is A. The same seed gives the same sides.",
    )
    cases = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off"}),
        help_text="Case ids, one per line. Leave empty for whole cohorts.",
    )
    label = forms.CharField(required=False, max_length=180, help_text="A name for the run.")

    def __init__(
        self, *args: Any, study: Study, closed: Collection[int] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        cohorts = self.fields["datasets"]
        assert isinstance(cohorts, CohortsField)
        found = (
            Dataset.objects.filter(study=study).order_by("name").annotate(cases=Count("encounters"))
        )
        cohorts.queryset = found
        if len(found) == 1:
            cohorts.initial = [found[0].public_id]
        self._keys = {
            k.written: k for k in find_sources(list(found), closed) if not is_superseded(k.source)
        }
        self._offer("sources", [(name, key.label) for name, key in self._keys.items()])
        self.fields["sources"].initial = suggest_sources(list(self._keys.values()))
        self._offer(
            "model",
            [
                ("", "default of the settings (MODEL_ROLES)"),
                *((n, n) for n in sorted(tools.roles().endpoints)),
            ],
        )
        self.can_judge = len(self._keys) > 1

    def clean_sources(self) -> list[SourceKey]:
        chosen = [self._keys[name] for name in self.cleaned_data["sources"]]
        if len(chosen) < 2:
            raise forms.ValidationError(
                "Choose at least two: a judge compares one timeline with another."
            )
        return chosen

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        wanted = cleaned.get("cases", "").split()
        known = set(
            Encounter.objects.filter(
                dataset__in=cleaned.get("datasets", []), case_id__in=wanted
            ).values_list("case_id", flat=True)
        )
        if unknown := [case for case in wanted if case not in known]:
            self.add_error(
                "cases",
                f"Not in these cohorts: {', '.join(unknown[:10])}. Enter one id per line.",
            )
        if cleaned.get("model") and cleaned.get("judge") == RULES:
            self.add_error(
                "model",
                "The rules judge uses no language model. Choose the other judge, or no model.",
            )
        cleaned["cases"] = wanted
        return cleaned

    def arguments(self) -> dict[str, Any]:
        """Return keyword arguments for `start_judging`, but `study` and `by`.

        See `adjudication.judge_runs.actions.start_judging`.
        """
        data = self.cleaned_data
        usual = FIXED_TOLERANCE if data["tolerance"] == "fixed" else TOLERANCE
        least, share = data["tolerance_hours"], data["tolerance_share"]
        tolerance = Tolerance(
            usual.least if least is None else least, usual.share if share is None else share
        )
        chosen: dict[str, Any] = {}
        if data["uid_table"] is not None:
            chosen["uid_table"] = data["uid_table"]
        if data["record_times"]:
            chosen["record_times"] = data["record_times"]
        if data["repair"]:
            chosen["repair"] = data["repair"] == "findings"
        if data["attempts"]:
            chosen["attempts"] = data["attempts"]
        return {
            "datasets": list(data["datasets"]),
            "sources": data["sources"],
            "judge": data["judge"],
            "model": data["model"],
            "config": preset_config(
                data["preset"] or "default",
                seed=data["seed"],
                swap=data["swap"],
                tolerance=tolerance,
                series_limit=data["series_limit"] or JUDGE_SERIES,
                **chosen,
            ),
            "cases": data["cases"],
            "label": data["label"],
        }

    @property
    def main_fields(self) -> list[forms.BoundField]:
        """The fields that every judge run needs."""
        return [field for field in self if field.name not in ADVANCED]

    @property
    def advanced_fields(self) -> list[forms.BoundField]:
        """The settings, in order of ADVANCED."""
        return [self[name] for name in ADVANCED]

    @property
    def advanced_errors(self) -> bool:
        """Whether one of the settings has an error."""
        return any(field.errors for field in self.advanced_fields)

    def _offer(self, name: str, choices: Sequence[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices


def suggest_sources(keys: Sequence[SourceKey]) -> list[str]:
    """Return the sources selected by default: whole systems, alternative 1.

    Variants only if there is nothing else: the number of games, and of the calls they cost, grows
    by the square of the sources.
    """
    first = [k for k in keys if k.alternative == 1]
    whole = [k for k in first if not split_source(k.source)[1] and k.source != ANY_CONSENSUS]
    return [k.written for k in (whole if len(whole) > 1 else first)]
