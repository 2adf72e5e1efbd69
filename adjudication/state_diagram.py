"""Generate docs/reference/review-states.md from the transitions.

Run `python -m adjudication.state_diagram`; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from adjudication.states import ASSIGNMENT_TRANSITIONS, PACKET_TRANSITIONS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "review-states.md"


def render() -> str:
    """Return the whole page.

    For packets and for reviewers it has a Mermaid diagram and the same as a table.
    """
    head = ["# States of a packet and of a review", ""]
    page = [
        *head,
        "Generated from `adjudication/states.py` by `python -m adjudication.state_diagram`.",
        "`docs/adr/0030-packets-slots-chain.md` has the reasons.",
        "",
    ]
    page += _part("A packet", "draft", PACKET_TRANSITIONS)
    page += _part("A reviewer in an open packet", "working", ASSIGNMENT_TRANSITIONS)
    return "\n".join(page)


def _part(title: str, begins: str, table: Mapping[str, Mapping[str, str]]) -> list[str]:
    ways = [(state, word, target) for state, out in table.items() for word, target in out.items()]
    ends = [state for state, out in table.items() if not out]
    return [
        f"## {title}",
        "",
        "```mermaid",
        "stateDiagram-v2",
        f"    [*] --> {begins}",
        *(f"    {state} --> {target}: {word}" for state, word, target in ways),
        *(f"    {state} --> [*]" for state in ends),
        "```",
        "",
        "| state | transition | next state |",
        "|---|---|---|",
        *(f"| {state} | {word} | {target} |" for state, word, target in ways),
        "",
    ]


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
