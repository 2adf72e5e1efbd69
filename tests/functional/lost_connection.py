"""What tests of a lost connection share."""

from __future__ import annotations

from playwright.sync_api import Page


def try_now(page: Page) -> None:
    """Press "Try now". The page tries by itself as well, and hides the button when that was sooner:
    so nobody waits for it to be seen.
    """
    page.evaluate("document.querySelector('[data-do=retry]').click()")
