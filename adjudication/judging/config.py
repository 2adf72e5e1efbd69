"""The settings that a judge run freezes, and its source names. No Django."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from adjudication.judging.input import RecordTimes
from adjudication.judging.validation import TOLERANCE, Tolerance
from ehr.presentation.rendering import JUDGE_SERIES
from llm_runtime.schema import SETTINGS, Number
from timelines.domain import TimelineKind
from timelines.evaluation.values import SourceKey

#: The seed of the protocol's resamples, also used to draw the labels.
SEED = 20260904
#: How runs were judged before these were settings.
EARLIER: Mapping[str, Any] = {"record_times": "iso", "repair": False}
#: The values of the published preset that differ from the defaults (protocol, "Presets").
PUBLISHED: Mapping[str, Any] = {**EARLIER, "uid_table": True}
#: Settings that belong to a run and are in no preset.
OF_THE_RUN = frozenset(("preset_name", "seed", "swap"))
PresetName = Literal["", "default", "published"]


class SourceUnknown(ValueError):
    """A malformed, unknown or ambiguous source; the message lists the known."""

    log_safe = True
    retryable = False


@dataclass(frozen=True, kw_only=True, config=SETTINGS)
class JudgeConfig:
    """Settings of a judge run.

    `swap` judges every game a second time with exchanged positions. `uid_table` shows UIDs and
    spans to the judge, as far as a source has them. It, `record_times` and `repair` have values of
    their own in the published preset. With `repair`, invalid findings of an answer are asked for again and valid ones stay;
    without it the whole answer is rejected. `attempts` are those of a language model at one game.
    `preset_name` is the preset that was chosen; "": none was named, as in older runs.
    """

    seed: int = SEED
    swap: bool = False
    uid_table: bool = False
    tolerance: Tolerance = TOLERANCE
    series_limit: int = JUDGE_SERIES
    record_times: RecordTimes = "hours"
    repair: bool = True
    attempts: Annotated[int, Number, Field(ge=1)] = 3
    preset_name: PresetName = field(default="", compare=False)

    @property
    def preset(self) -> str:
        """Return the preset's name, with the settings that depart from it.

        If none was recorded, it is the published one for times and repair as published, whether or
        not UIDs were shown, else the default.
        """
        if self.preset_name:
            usual = preset_config(self.preset_name).to_dict()
            departures = [
                name
                for name, value in self.to_dict().items()
                if name not in OF_THE_RUN and value != usual[name]
            ]
            words = f", except {', '.join(departures)}" if departures else ""
            return f"{self.preset_name}{words}"
        published = [name for name, value in EARLIER.items() if getattr(self, name) == value]
        if len(published) == len(EARLIER):
            return "published"
        return f"default, except {', '.join(published)}" if published else "default"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> JudgeConfig:
        """Build it; raise ValueError naming an unknown setting or wrong type.

        Runs from before `record_times` and `repair` were settings were judged as published.
        """
        return cls(**{**EARLIER, **plain})


def preset_config(name: PresetName, **settings: Any) -> JudgeConfig:
    """Return a preset's settings with some replaced."""
    usual = PUBLISHED if name == "published" else {}
    return JudgeConfig(**{**usual, "preset_name": name, **settings})


def game_seed(seed: int, *names: str) -> int:
    """Derive a game's seed from the run's seed, the case and the sources.

    The same case and sources therefore get the same sides in every run with that seed.
    """
    digest = hashlib.sha256("\x1f".join([str(seed), *names]).encode()).digest()
    return int.from_bytes(digest[:4], "big")


def parse_source(text: str, known: Sequence[SourceKey]) -> SourceKey:
    """Return the source written as `source`, `source@kind` or with `#number`.

    The form with `#number` is `source@kind#alternative`. A bare name means its reference, else its
    first revised timeline, else its text-only one. Raises SourceUnknown if it is not among `known`.
    """
    name, at, rest = text.strip().rpartition("@")
    if not at:
        name, rest = rest, ""
    kind, _, number = rest.partition("#")
    fits = [k for k in known if k.source == name and (not kind or k.kind == kind.replace("-", "_"))]
    fits = [k for k in fits if str(k.alternative) == (number or "1")]
    order = [TimelineKind.REFERENCE, TimelineKind.REVISED, TimelineKind.TEXT_ONLY]
    if not fits:
        there = ", ".join(k.written for k in known) or "none yet"
        raise SourceUnknown(f"no timeline has the source {text.strip()!r}; there are: {there}")
    return min(fits, key=lambda k: order.index(TimelineKind(k.kind)))
