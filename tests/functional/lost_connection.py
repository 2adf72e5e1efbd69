"""What tests of a lost connection share."""

from __future__ import annotations

from playwright.sync_api import Page


def press_try_now(page: Page) -> None:
    """Press "Try now" without waiting for it to be visible.

    The page also tries on its own, and hides the button if that was sooner.
    """
    page.evaluate("document.querySelector('[data-do=retry]').click()")
