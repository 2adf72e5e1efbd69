"""A recipe's text: good ones come back, faults name line and field."""

from __future__ import annotations

import pytest

from adjudication.recipes.reading import RecipeInvalid, read_recipe, write_recipe

SMALL = """\
name: small
cohorts: [demo]
runs:
  - name: rules
    backbone: rules
    variants: [full, unimodal]
judges:
  - name: gavel
    runs: [rules]
    sources: [reference]
packets:
  - name: packet
    judge: gavel
    label: First packet
"""


def test_what_is_written_reads_back_equal():
    recipe = read_recipe(SMALL)
    assert read_recipe(write_recipe(recipe)) == recipe
    assert [part.name for _, part in recipe.parts] == ["rules", "gavel", "packet"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("unimodal]", "bogus]"), "line 6, runs[0].variants[1]: is none of full, unimodal"),
        (("    backbone: rules\n", ""), "line 4, runs[0].backbone: missing."),
        (("judge: gavel", "judge: other"), "packet is drawn from other, which is no judge"),
        (("runs: [rules]", "runs: [x]"), "gavel names runs that the recipe does not have: x"),
        (("name: packet", "name: rules"), "several parts are named rules"),
        (("name: small", "name: small\nbogus: 1"), "line 2, bogus: is unknown here"),
        (("- name: rules", "- name: My rules"), "line 4, runs[0].name: use lower-case letters"),
        (("[full, unimodal]", "[full]\n    settings: {x: 1}"), "runs[0].settings: x cannot be set"),
        (
            ("[full, unimodal]", "[full]\n    settings: {alternatives: many}"),
            "line 7, runs[0].settings: alternatives is no number.",
        ),
        (("label:", "lable:"), "line 14, packets[0].lable: is unknown here"),
        (("cohorts: [demo]", "cohorts: []"), "line 2, cohorts: name at least one."),
        (("name: small", "name: &a small"), "line 1: & and * are not allowed"),
        (("name: small", "name: !!python/x small"), "line 1: tags (!) are not allowed"),
        (("cohorts: [demo]", "cohorts: [demo"), "line 3: the text is not YAML"),
        ((SMALL, "- a\n"), "line 1: a recipe begins with keys"),
        ((SMALL, "name: a\nabout: 2024-01-01\ncohorts: [a]\n"), "words in quotes"),
        ((SMALL, "name: a\ncohorts: [a]\n"), "at least one run"),
    ],
)
def test_a_fault_names_its_line_and_field(change: tuple[str, str], fault: str):
    with pytest.raises(RecipeInvalid) as refused:
        read_recipe(SMALL.replace(*change))
    assert fault in str(refused.value)
