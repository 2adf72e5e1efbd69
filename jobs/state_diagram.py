"""Write docs/reference/job-states.md from the transitions.

Run `python -m jobs.state_diagram`; a test compares the two.
"""

from __future__ import annotations

from pathlib import Path

from jobs.states import FINAL, TRANSITIONS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "job-states.md"


def render() -> str:
    """Return the page: a Mermaid diagram and a table of the transitions."""
    return "\n".join(
        [
            "# States of a job",
            "",
            (
                "Generated from `jobs/states.py` by `python -m jobs.state_diagram`."
                " `docs/adr/0011-fencing.md` has the reasons."
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
            "| state | transition | next state |",
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
