"""The steps of a whole review, as the documentation shows them: `docs/review.md` is made of these
words and of pictures of the walk.

`REVIEW_WALK=1 pytest tests/functional/test_review_walk.py` takes the pictures anew and writes the
page.
"""

from __future__ import annotations

import os
import textwrap
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from playwright.sync_api import Page

DOCS = Path(settings.BASE_DIR) / "docs"
PAGE, PICTURES = DOCS / "review.md", DOCS / "review"


@dataclass(frozen=True)
class Step:
    """One picture with its heading and what is to be said of it."""

    name: str
    title: str
    words: str


STEPS = (
    Step(
        "draw",
        "An admin draws a packet",
        "The page first shows what may be drawn: every stratum of every pairing, and what is "
        "left out, by reason. Quotas, cases, the seed and whether a pairing gets a second "
        "reviewer are chosen here, and what they would draw is shown before anything is stored.",
    ),
    Step(
        "packet",
        "People are assigned, and the packet opens",
        "Until it opens it can be changed or thrown away; from then on its items stay as they "
        "are. Anyone who wrote a timeline of one of its cases, or has seen one unblinded, "
        "cannot be assigned; the pages of these cases close to those who are.",
    ),
    Step(
        "steps",
        "A reviewer begins",
        "Four steps, in order: practice, the items, a last question, the signature. Work can "
        "stop at any time and go on from another computer.",
    ),
    Step(
        "practice",
        "Practice comes first",
        "Short made-up cases on the very page that the review uses, with the right answer and "
        "why after each. They count for nothing.",
    ),
    Step(
        "item",
        "One item at a time",
        "The two rows stand side by side as A and B; which is which is drawn anew for each "
        "item. Below them are the note at the place that the rows speak of, both timelines "
        "around it, and the structured record, the series nearest to the words first. Hours are "
        "whole on both sides. `1` to `6` choose, `Enter` saves and shows the next item, `u` "
        "takes the last answer back, `s` skips, `f` flags, `c` and `t` go to the comment and to "
        "one's own time.",
    ),
    Step(
        "one-sided",
        "A row that only one side has",
        "Choosing the side that has it says that the event is real, or that it did happen "
        "again; choosing the other says that it is not. A line shows where it would stand in "
        "the other timeline.",
    ),
    Step(
        "dark",
        "The same in the dark",
        "Every page follows the system's light or dark look, or the one chosen with the button "
        "above.",
    ),
    Step(
        "answers",
        "My answers",
        "Each can be changed until the signature. The earlier answer stays in the chain of "
        "decisions; the change is added to it.",
    ),
    Step(
        "question",
        "A last question",
        "Which side do you think a clinician wrote? The report card sets the guesses against "
        "chance: it shows how well the blinding worked.",
    ),
    Step(
        "receipt",
        "The signature and its receipt",
        "Signing asks for the password again. The receipt carries the head of the chain that "
        "the signature covers: anyone who keeps it can prove later that nothing before it was "
        "altered. A signature can be taken back, with a reason; both stay.",
    ),
    Step(
        "third",
        "A third person decides where two differ",
        "On the same page and just as blinded: neither what the two answered nor that they "
        "differed in which way can be seen.",
    ),
    Step(
        "report",
        "The report card",
        "Once the packet is closed, the judge's report card is complete: how often it was "
        "upheld, by stratum and standardised, how reviewers agree and where they do not, the "
        "time it took, and the blinding check.",
    ),
    Step(
        "revealed",
        "What reviewers see afterwards",
        "Where the packet's policy says so, one's own answers stand beside the judge's after it "
        "was closed; under the other policy, never.",
    ),
)


def page() -> str:
    """Return the documentation's page, in Markdown, its lines wrapped at 100 characters."""
    blocks = [
        f"## {n}. {s.title}\n\n{wrapped(s.words)}\n\n![{s.title}](review/{s.name}.png)\n"
        for n, s in enumerate(STEPS, 1)
    ]
    head = "# A blinded review, step by step\n\n" + wrapped(
        "From the draw to the report card, as a browser test walks it; the pictures are its own."
        " The case is made up, like everything in the shipped cohort. What keeps a reviewer blinded"
        " is said in [one function](adr/0031-blinding-is-one-function.md); packets, slots and the"
        " chain of decisions in [their decision](adr/0030-packets-slots-chain.md)."
    )
    foot = "---\n\n" + wrapped(
        "Taken by `REVIEW_WALK=1 pytest tests/functional/test_review_walk.py`, which also writes"
        " this page."
    )
    return "\n".join([head + "\n", *blocks, foot]) + "\n"


def wrapped(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


class Camera:
    """Takes the pictures of the steps into ARTIFACTS; with REVIEW_WALK set, into the documentation."""

    def __init__(self) -> None:
        artifacts = (
            Path(os.environ.get("ARTIFACTS", Path(settings.BASE_DIR) / "var" / "artifacts"))
            / "review-walk"
        )
        self.for_docs = os.environ.get("REVIEW_WALK", "") == "1"
        self.folder = PICTURES if self.for_docs else artifacts
        self.folder.mkdir(parents=True, exist_ok=True)
        self.taken: list[str] = []

    def take(self, window: Page, name: str) -> None:
        window.wait_for_timeout(150)
        window.screenshot(path=self.folder / f"{name}.png")
        self.taken.append(name)

    def finish(self) -> None:
        """Every step has its picture; the page is written where the documentation asked for it."""
        assert sorted(self.taken) == sorted(step.name for step in STEPS)
        if self.for_docs:
            PAGE.write_text(page(), encoding="utf-8")
