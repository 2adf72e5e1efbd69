"""Exports without what differs between runs of the same code.

These are random ids, hashes over them, clock times, durations.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import date
from itertools import count
from random import Random
from unittest import mock

from django.apps import apps
from django.db.models import Model

ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
WORD = re.compile(
    r"(?<![0-9A-Za-z])(?:[0-9a-f]{64}|[0-9a-f]{40}\+?|[2-9a-hjkmnp-z]{12}|version [0-9.]+)(?![0-9A-Za-z])"
)
#: Field with random values → ending of their name, which begins with the model. A request's id is
#: made of its server's port.
RANDOM = {"token": "-token", "request_id": "-request", "hash": "-hash", "public_id": ""}
#: Part of names of exports → what is replaced in those alone.
DURATIONS: Mapping[str, tuple[str, str]] = {
    "prov": (r'"occurrent:seconds": [0-9.e-]+', '"occurrent:seconds": "SECONDS"'),
    "model_calls/whole": (r'"seconds": [0-9.e-]+', '"seconds": "SECONDS"'),
    "model_calls/figures": (r",\d+\.\d+(e-\d+)?,", ",SECONDS,"),
}


@contextmanager
def fix_randomness() -> Iterator[None]:
    """Draw the same ids, seeds and UIDs each time.

    A packet's items are drawn in the order of random ids, sides by random seeds.
    """
    with ExitStack() as stack:
        for model in find_models("public_id"):
            field = model._meta.get_field("public_id")
            stack.enter_context(
                mock.patch.dict(field.__dict__, {"_get_default": number_ids(model)})
            )
        stack.enter_context(mock.patch("secrets.randbits", Random(1).getrandbits))
        stack.enter_context(mock.patch("random.SystemRandom", side_effect=lambda: Random(1)))
        yield


def number_ids(model: type[Model]) -> Callable[[], str]:
    """A maker of public ids for a model, the same ones in each run."""
    numbers = count(1)

    def new_id() -> str:
        digest = hashlib.sha256(f"{model._meta.model_name}:{next(numbers)}".encode()).digest()
        return "".join(ALPHABET[byte % len(ALPHABET)] for byte in digest[:12])

    return new_id


def find_models(name: str) -> list[type[Model]]:
    return [
        model
        for model in apps.get_models()
        if any(field.attname == name for field in model._meta.fields)
    ]


def map_names() -> dict[str, str]:
    """Return a fixed name for each random value.

    A random id becomes its model and a running number, and so does the hash of a chain or a
    request. The revision of the code becomes one word.
    """
    taken: dict[str, str] = {}
    for field, words in RANDOM.items():
        for model in find_models(field):
            values = model._default_manager.order_by("pk").values_list(field, flat=True)
            taken |= {
                value: f"{model._meta.model_name}{words}-{n}"
                for n, value in enumerate(values, start=1)
            }
    for model in find_models("code_revision"):
        taken |= dict.fromkeys(
            model._default_manager.values_list("code_revision", flat=True), "REVISION"
        )
    return taken


#: A number with decimals. Its last digits may depend on the order in which a processor adds.
DECIMAL = re.compile(r"(?<![\w.])-?\d+(?:\.\d+(?:e[-+]?\d+)?|e-\d+)(?![\w.])")


def normalise(name: str, text: str, known: Mapping[str, str], days: set[date]) -> str:
    """Return the export in the form that each run of the same code gives.

    Numbers are rounded to nine decimals: machines differ beyond.

    `days`: the days on which this run ran.
    """
    text = WORD.sub(lambda match: known.get(match.group(), match.group()), text)
    for day in days:
        text = re.sub(
            rf"{day.isoformat()}[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z| UTC)?", "CLOCK", text
        )
    text = re.sub(r"127\.0\.0\.1:\d+", "SERVER", text)
    text = DECIMAL.sub(lambda match: repr(round(float(match.group()), 9) + 0.0), text)
    for part, (pattern, replacement) in DURATIONS.items():
        if part in name:
            text = re.sub(pattern, replacement, text)
    return text
