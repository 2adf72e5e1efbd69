"""A recipe as a form: what is shown is what is read back."""

from __future__ import annotations

import pytest

from adjudication.recipes.building import (
    PARTS,
    change,
    list_head,
    list_parts,
    read_form,
    to_yaml,
)
from adjudication.recipes.judging import configure_judge
from adjudication.recipes.reading import read_recipe
from adjudication.recipes.schema import JudgePart
from adjudication.recipes.starters import load_starter


def send(plain: dict) -> dict[str, str]:
    """What a browser sends of the form, without unchecked boxes."""
    fields = [*list_head(plain), *(f for part in list_parts(plain) for f in part.fields)]
    return {f.name: f.value for f in fields if f.kind != "check" or f.value}


def test_the_published_recipe_comes_back_from_its_form():
    recipe = read_recipe(load_starter())
    plain = recipe.model_dump(mode="json")
    assert read_recipe(to_yaml(read_form(send(plain)))) == recipe


def test_settings_and_quotas_are_written_as_pairs():
    form = {
        "name": "x",
        "cohorts": "a, b\r\nc",
        "runs.0.name": "r",
        "runs.0.backbone": "rules",
        "runs.0.settings": "alternatives = 2\ncite_rows=no",
        "runs.0.rho": "0.1, 0.2",
        "packets.7.name": "p",
        "packets.7.quotas": "VALUE=3",
    }
    assert read_form(form) == {
        "name": "x",
        "cohorts": ["a", "b", "c"],
        "runs": [
            {
                "name": "r",
                "backbone": "rules",
                "rho": [0.1, 0.2],
                "settings": {"alternatives": 2, "cite_rows": False},
            }
        ],
        "packets": [{"name": "p", "quotas": {"VALUE": 3}}],
    }


def test_a_part_of_every_kind_is_added_with_a_new_name_and_removed():
    plain: dict = {"name": "x", "cohorts": ["demo"]}
    for kind in PARTS:
        plain = change(change(plain, f"add-{kind}"), f"add-{kind}")
    assert [part["name"] for part in plain["runs"]] == ["run", "run-2"]
    assert [p.name for _, p in read_recipe(to_yaml(plain)).parts] == [
        *("run", "run-2", "evaluation", "evaluation-2", "judge", "judge-2"),
        *("planted", "planted-2", "packet", "packet-2"),
    ]
    assert change(plain, "remove-runs-0")["runs"] == [plain["runs"][1]]
    assert change(plain, "remove-runs-9") == change(plain, "remove-nothing-0") == plain


@pytest.mark.parametrize("shown", [None, True, False])
def test_a_choice_that_may_follow_the_preset_comes_back(shown: bool | None):
    judge = {"name": "j", "sources": ["a", "b"], "uid_table": shown}
    plain = {"name": "x", "cohorts": ["demo"], "judges": [judge]}
    (part,) = read_recipe(to_yaml(read_form(send(plain)))).judges
    assert part.uid_table is shown


@pytest.mark.parametrize(
    ("preset", "said", "shown"),
    [
        ("published", None, True),
        ("published", False, False),
        ("default", None, False),
        ("default", True, True),
    ],
)
def test_a_judge_shows_identifiers_as_its_preset_unless_the_recipe_says_otherwise(
    preset: str, said: bool | None, shown: bool
):
    judge = JudgePart(name="j", preset=preset, uid_table=said)  # type: ignore[arg-type]
    assert configure_judge(judge.model_dump(mode="json")).uid_table is shown
