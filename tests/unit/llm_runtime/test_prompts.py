"""Prompt files: strict fields, hashes, and data that stays data."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_runtime.base import Message
from llm_runtime.prompts import PROMPTS, PromptError, delimit, load, parse

TEXT = "For people.\n\n=== system ===\nYou read.\n\n=== user ===\n{{note|data}}\n\nList {{what}} of {{ note | data }}.\n"


def test_a_prompt_is_rendered_with_its_fields_and_its_hash(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text(TEXT)
    rendered = load("one", tmp_path).render(note="Fever.", what="events")
    assert rendered.sha256 == hashlib.sha256(TEXT.encode()).hexdigest()
    assert [m.role for m in rendered.messages] == ["system", "user"]
    assert rendered.messages[0].content == "You read."
    assert rendered.messages[1].content.count("\nFever.\n") == 2
    assert "List events of" in rendered.messages[1].content


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"note": "n"}, "missing: what"),
        ({"note": "n", "what": "w", "rows": "r"}, "unknown: rows"),
        ({}, "note, what"),
    ],
)
def test_a_missing_or_unknown_field_is_named(fields: dict[str, str], message: str) -> None:
    with pytest.raises(PromptError, match=message):
        parse("p", TEXT, "0").render(**fields)


def test_files_that_are_no_prompts_are_named() -> None:
    with pytest.raises(PromptError, match="no line"):
        parse("p", "just words", "0")
    with pytest.raises(PromptError, match="there is no prompt timelines/nothing"):
        load("timelines/nothing")
    with pytest.raises(PromptError, match="field a is delimited in one place"):
        parse("p", "=== user ===\n{{a}} {{a|data}}", "0")


def test_a_value_is_not_searched_for_fields() -> None:
    rendered = parse("p", TEXT, "0").render(note="{{what}} {{secret}}", what="{{note}}")
    assert "{{what}} {{secret}}" in rendered.messages[1].content
    assert "List {{note}} of" in rendered.messages[1].content


@given(st.text(max_size=400))
def test_data_never_holds_its_own_end_marker(data: str) -> None:
    wrapped = delimit("note", data)
    head, tail = wrapped.split("\n", 1)[0], wrapped.rsplit("\n", 1)[1]
    tag = head.removeprefix("<<<BEGIN NOTE ").removesuffix(">>>")
    assert tail == f"<<<END NOTE {tag}>>>"
    assert wrapped == f"{head}\n{data}\n{tail}"
    assert tag not in data
    assert delimit("note", data) == wrapped


def test_every_prompt_of_the_project_can_be_read() -> None:
    names = [
        str(path.relative_to(PROMPTS).with_suffix(""))
        for path in sorted(PROMPTS.rglob("*.md"))
        if path.parent.name != "parts"
    ]
    assert {
        "timelines/tag",
        "timelines/infer",
        "timelines/query",
        "timelines/revise",
        "timelines/single_step",
    } <= set(names)
    for name in names:
        prompt = load(name)
        assert prompt.fields, name
        prompt.render(**dict.fromkeys(prompt.fields, "x"))


def test_prompts_take_in_parts_and_their_hash_changes_with_them(tmp_path: Path) -> None:
    (tmp_path / "rule.md").write_text("Count in {{unit}}.\n")
    (tmp_path / "one.md").write_text("=== user ===\nFirst.\n\n{{> rule}}\n\nLast.\n")
    prompt = load("one", tmp_path)
    assert prompt.render(unit="hours").messages[0].content == "First.\n\nCount in hours.\n\nLast."
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "rule.md").write_text("Count in days.\n")
    (tmp_path / "two" / "one.md").write_text((tmp_path / "one.md").read_text())
    assert load("one", tmp_path / "two").sha256 != prompt.sha256


def test_a_part_that_is_missing_or_takes_itself_in_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("=== user ===\n{{> b}}\n")
    with pytest.raises(PromptError, match="no prompt b, which a takes in"):
        load("a", tmp_path)
    (tmp_path / "b.md").write_text("{{> a}}\n")
    with pytest.raises(PromptError, match="a takes in a within itself"):
        load("a", tmp_path)


def test_the_stages_of_one_case_begin_alike_so_that_a_server_can_reuse_the_prefix() -> None:
    """Inference and revision are equal up to the end of the note.

    The note is the bulk of every request.
    """
    heads = {
        name: [m.content.split("<<<BEGIN NOTE")[0] for m in _render(name)[:2]]
        for name in (
            "timelines/infer",
            "timelines/infer_table",
            "timelines/revise",
            "timelines/revise_table",
        )
    }
    assert len({tuple(head) for head in heads.values()}) == 1


def _render(name: str) -> tuple[Message, ...]:
    prompt = load(name)
    return prompt.render(**dict.fromkeys(prompt.fields, "x")).messages
