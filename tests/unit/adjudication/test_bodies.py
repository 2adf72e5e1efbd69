"""Bodies of the API and forms of the pages ask for the same.

A body is typed and has no data of a study, so it is written beside the form.
"""

from __future__ import annotations

from typing import Any

import pytest
from django import forms
from rest_framework import serializers

from accounts.api_access.operations import Body
from adjudication.api.judging.bodies import JudgeStart
from adjudication.api.packets.bodies import Assign, Draw
from adjudication.judge_runs.forms import JudgeForm
from adjudication.packets.forms import AssignForm, DrawForm

PAIRS = ((JudgeForm, JudgeStart), (DrawForm, Draw), (AssignForm, Assign))
#: Fields that the page has in another way: the study is the active one, and each stratum's quota
#: has a field of its own, which the form makes.
OTHERWISE = {"study", "quotas"}


def limits(field: Any) -> dict[str, Any]:
    """Return what a value must be, as far as the field alone says it."""
    found: dict[str, Any] = {}
    if isinstance(field, forms.IntegerField | serializers.IntegerField):
        found |= {"least": field.min_value, "most": field.max_value}
    if isinstance(field, forms.ChoiceField | serializers.ChoiceField):
        choices: Any = field.choices
        found |= {"values": [str(value) for value in dict(choices)]}
    return found


@pytest.mark.parametrize(("form", "body"), PAIRS, ids=["judge", "draw", "assign"])
def test_a_body_has_the_fields_and_limits_of_the_form(
    form: type[forms.Form], body: type[Body]
) -> None:
    on_page, in_api = form.base_fields, body().fields
    assert set(in_api) - OTHERWISE == set(on_page)
    for name, asked in on_page.items():
        taken = in_api[name]
        if isinstance(taken, serializers.IntegerField | serializers.ChoiceField):
            assert limits(taken) == limits(asked), name
        if name == "label":
            assert isinstance(asked, forms.CharField)
            assert isinstance(taken, serializers.CharField)
            assert taken.max_length == asked.max_length
        if asked.initial is not None and not callable(taken.default):
            assert taken.default == asked.initial, name
