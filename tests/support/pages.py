"""Read the pages that the test client fetched."""

from __future__ import annotations

import re

from django.http import HttpResponse


def extract_text(response: HttpResponse) -> str:
    """Return the words of a page, with single blanks between them."""
    words = re.sub(r"<[^>]+>", " ", response.content.decode())
    return " ".join(words.replace("&nbsp;", " ").split())


def join_markup(response: HttpResponse) -> str:
    """Return a page on one line, as templates may break lines anywhere."""
    return " ".join(response.content.decode().split())
