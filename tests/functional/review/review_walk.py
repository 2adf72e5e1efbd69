"""The steps of a whole review, for a test and for `docs/review.md`.

The page consists of these words and of pictures. `REVIEW_WALK=1 pytest
tests/functional/review/test_review_walk.py` takes the pictures and writes the page.
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
    """One picture with its heading and text."""

    name: str
    title: str
    words: str


STEPS = (
    Step(
        "draw",
        "An admin draws a packet",
        "The page shows what can be drawn: every stratum of every pairing, and the excluded "
        "findings by reason. The admin chooses quotas, cases, the seed and whether a pairing gets "
        "a second reviewer. A preview shows the draw before anything is stored. No occurrence "
        "comes twice, and differences come evenly from both directions. The review can have a due "
        "date.",
    ),
    Step(
        "packet",
        "The admin assigns people and opens the packet",
        "A draft can be changed or discarded. After opening, its items never change. Authors of a "
        "timeline of one of its cases, and people who have seen one unblinded, cannot be assigned. "
        "The pages of these cases close to assigned people. The guess test shows whether a "
        "classifier can find the sources of the items.",
    ),
    Step(
        "steps",
        "A reviewer begins",
        "A review has four steps, in order: practice, the items, a last question, the signature. "
        "The reviewer can stop at any time and continue on another computer. A person can have a "
        "due date of their own, and reminders come before and after it. A page of guidelines "
        "explains the answers with examples. An admin can also assign a search: the reviewer lists "
        "the differences of two whole timelines before the items open.",
    ),
    Step(
        "practice",
        "Start with the practice",
        "Practice uses short invented cases on the same page as the review. After each answer it "
        "shows the right one and explains it. Undo, skip and flag work as in the review. Practice "
        "answers do not count.",
    ),
    Step(
        "item",
        "One item at a time",
        "A and B show the two rows side by side, in words of the note and in rounded times; each "
        "item draws its sides at random. Below them are the marked place in the note, rows near "
        "it that both timelines have, and the structured record with hospital days, the most "
        "similar series first. `w` opens both whole timelines in the same form, which the audit "
        "trail records. `1` to `6` choose, `Enter` saves and shows the next item, `u` undoes, `s` "
        "skips, `f` flags, `c` opens the comment, `t` the reviewer's own time and `n` a note to "
        "the study admin, which no other reviewer sees.",
    ),
    Step(
        "one-sided",
        "A row that only one side has",
        "The question is whether the event, or its repeat, happened: yes or no. If a side has another "
        "row at the same place of the note, it is shown too.",
    ),
    Step(
        "dark",
        "The dark theme",
        "Every page follows the system's light or dark theme, or the button at the top.",
    ),
    Step(
        "answers",
        "My answers",
        "The reviewer can change each answer until the signature. The chain of decisions stores "
        "the earlier answer and adds the change.",
    ),
    Step(
        "question",
        "A last question",
        "Which side do you think a clinician wrote? The report card compares the guesses with "
        "chance, which shows how well the blinding worked.",
    ),
    Step(
        "receipt",
        "The signature and its receipt",
        "Signing asks for the password again. The receipt contains the head of the chain that the "
        "signature covers. With a copy of it, anyone can later prove that nothing before it was "
        "changed. A signature can be withdrawn, with a reason; both are stored.",
    ),
    Step(
        "third",
        "A third person decides if two differ",
        "The third person uses the same blinded page. It shows neither the two answers nor how "
        "they differ.",
    ),
    Step(
        "report",
        "The report card",
        "After the packet is closed, the judge's report card is complete. It shows how often the "
        "judge was upheld, by stratum and standardised, the agreement and disagreements of "
        "reviewers, the recall and precision of the judge against people's searches "
        "([ADR 68](adr/0068-searches-for-differences.md)), the time they took, and the blinding "
        "check.",
    ),
    Step(
        "revealed",
        "What reviewers see afterwards",
        "If the packet's policy allows it, reviewers see their own answers next to the judge's "
        "after it is closed. Otherwise they never do.",
    ),
)


def build_page() -> str:
    """Return the documentation's page in Markdown, wrapped at 100 characters."""
    blocks = [
        f"## {n}. {s.title}\n\n{wrap_text(s.words)}\n\n![{s.title}](review/{s.name}.png)\n"
        for n, s in enumerate(STEPS, 1)
    ]
    head = "# A blinded review, step by step\n\n" + wrap_text(
        "A browser test performs this review, from the draw to the report card, and takes the"
        " pictures. The case is invented. [ADR 31](adr/0031-blinding-is-one-function.md)"
        " explains what keeps a reviewer blinded, and [ADR 30](adr/0030-packets-slots-chain.md)"
        " describes packets, slots and the chain of decisions."
    )
    foot = "---\n\n" + wrap_text(
        "`REVIEW_WALK=1 pytest tests/functional/review/test_review_walk.py` takes the pictures and writes"
        " this page."
    )
    return "\n".join([head + "\n", *blocks, foot]) + "\n"


def wrap_text(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


class Camera:
    """Stores the pictures of the steps in ARTIFACTS.

    With REVIEW_WALK set, they go into the documentation.
    """

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
        # Until transitions end. A page that has just been replaced cannot be drawn at once.
        window.wait_for_timeout(800 if self.for_docs else 150)
        window.screenshot(path=self.folder / f"{name}.png")
        self.taken.append(name)

    def finish(self) -> None:
        """Check that every step has its picture; write the page for the docs.

        The page is written only with REVIEW_WALK set.
        """
        assert sorted(self.taken) == sorted(step.name for step in STEPS)
        if self.for_docs:
            PAGE.write_text(build_page(), encoding="utf-8")
