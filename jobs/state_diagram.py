"""Write docs/reference/job-states.md from the transitions.

Run `python -m jobs.state_diagram`; a test compares the two.
"""

from __future__ import annotations

from pathlib import Path

from jobs.states import FINAL, TRANSITIONS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "job-states.md"


def render() -> str:
    """The whole page: a Mermaid diagram, then the same as a table."""
    return "\n".join(
        [
            "# States of a job",
            "",
            (
                "Generated from `jobs/states.py` by `python -m jobs.state_diagram`. Why it is built"
                " so: `docs/adr/0011-fencing.md`."
            ),
            "",
            "```mermaid",
            "stateDiagram-v2",
            "    [*] --> blocked",
            "    [*] --> queued",
            *(
                f"    {state} --> {target}: {word}"
                for state, ways in TRANSITIONS.items()
                for word, target in ways.items()
            ),
            *(f"    {state} --> [*]" for state in TRANSITIONS if state in FINAL),
            "```",
            "",
            "| state | what happens | leads to |",
            "|---|---|---|",
            *(
                f"| {state} | {word} | {target} |"
                for state, ways in TRANSITIONS.items()
                for word, target in ways.items()
            ),
            "",
        ]
    )


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(render(), encoding="utf-8")
