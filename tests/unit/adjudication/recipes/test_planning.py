"""The steps of a recipe and what each waits for."""

from __future__ import annotations

from adjudication.recipes.planning import Connected, plan_steps
from adjudication.recipes.reading import read_recipe
from timelines.pipeline.config import Variant

HERE = Connected(
    baselines={"llm_timeline": (Variant.UNIMODAL,), "tkw2": (Variant.FULL, Variant.UNIMODAL)},
    models=("large", "small"),
    without_model=frozenset({"rules"}),
)
TEXT = """\
name: study
cohorts: [a, b]
runs:
  - {name: rules, backbone: rules, variants: [no_uid, full], rho: [0.1]}
  - {name: prompted, backbone: prompted, model: each}
  - {name: line, backbone: llm_timeline, model: small}
evaluations:
  - {name: main}
  - {name: own, runs: [line]}
judges:
  - {name: gavel, runs: [rules], sources: [reference]}
planted:
  - {name: recall}
  - {name: other, source: rules}
packets:
  - {name: packet, judge: gavel, label: P}
"""


def test_bases_come_before_what_rests_on_them():
    steps = {step.key: step for step in plan_steps(read_recipe(TEXT), HERE)}
    runs = [key for key, step in steps.items() if step.kind == "run"]
    assert runs == [
        "rules@a", "rules/no_uid@a", "rules/rho=0.1@a",
        "rules@b", "rules/no_uid@b", "rules/rho=0.1@b",
        "prompted:large@a", "prompted:small@a", "prompted:large@b", "prompted:small@b",
        "line:small/unimodal@a", "line:small/unimodal@b",
    ]  # fmt: skip
    assert steps["rules/no_uid@a"].needs == steps["rules/rho=0.1@a"].needs == ("rules@a",)
    assert steps["rules/rho=0.1@b"].arguments["rho"] == 0.1
    assert steps["line:small/unimodal@a"].needs == ()
    assert steps["evaluation main"].needs == tuple(runs)
    assert steps["evaluation own"].needs == ("line:small/unimodal@a", "line:small/unimodal@b")
    assert steps["judge gavel"].needs == tuple(key for key in runs if key.startswith("rules"))
    assert steps["planted recall"].needs == ()
    assert steps["planted other"].needs == tuple(runs)
    assert steps["packet packet"].needs == ("judge gavel",)


def test_without_a_connected_model_each_makes_no_run():
    alone = Connected(HERE.baselines, (), HERE.without_model)
    keys = [step.key for step in plan_steps(read_recipe(TEXT), alone)]
    assert not [key for key in keys if key.startswith("prompted")]
    assert "rules@a" in keys
