"""Examinations match rows of the same part of the body."""

from __future__ import annotations

import pytest

from timelines.backbones.rules.revision.procedures import _is_elsewhere


@pytest.mark.parametrize(
    ("said", "event", "elsewhere"),
    [
        ("repeat CT of the head", "procedure:ct head:start", False),
        ("noncontrast head CT", "procedure:ct brain without contrast:start", False),
        ("CT of the abdomen", "procedure:ct head:start", True),
        ("CT A/P", "procedure:ct abdomen and pelvis:start", False),
        ("CT torso", "procedure:ct chest:start", False),
        ("CT torso", "procedure:ct abdomen:start", False),
        ("CTPA", "procedure:ct head:start", True),
        # one of them names no part
        ("CT showed a bleed", "procedure:ct head:start", False),
        ("CT of the head", "procedure:ct scan:start", False),
        ("ultrasound of the left leg", "procedure:ultrasound abdomen:start", True),
    ],
)
def test_parts_of_the_body(said: str, event: str, elsewhere: bool) -> None:
    assert _is_elsewhere(said, event) is elsewhere
