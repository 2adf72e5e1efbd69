"""What the launchers share: signals to end, and lines to print."""

from __future__ import annotations

import signal
from types import FrameType


def end_on_sigterm() -> None:
    """Treat SIGTERM like Ctrl-C, so that a service manager stops us cleanly.

    A shell starts background jobs with Ctrl-C's signal ignored, and Python leaves that so: the
    handler of that signal is set here as well.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGINT, interrupt)


def print_now(message: str) -> None:
    """Print the message at once."""
    print(f"occurrent: {message}", flush=True)
