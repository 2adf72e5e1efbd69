"""Find a quote in the note (protocol section 4). No Django.

Kinds of quotation marks and white space are ignored.
"""

from __future__ import annotations

#: What a judge writes if it looked for evidence and there is none.
NOT_FOUND = "none found"
#: A quote that has a double quotation mark is written with single ones, so every kind is one.
_MARKS = str.maketrans(dict.fromkeys("\"'`´‘’‚‛“”„‟′″«»‹›", "'"))


def normalise_text(text: str) -> tuple[str, list[int]]:
    """Return the text with single spaces and one kind of quotation mark.

    No space is left at its ends. The second value has, for each character, its offset in `text`.
    """
    characters: list[str] = []
    offsets: list[int] = []
    for at, character in enumerate(text.translate(_MARKS)):
        if character.isspace():
            if not characters or characters[-1] == " ":
                continue
            character = " "
        characters.append(character)
        offsets.append(at)
    if characters and characters[-1] == " ":
        characters.pop()
        offsets.pop()
    return "".join(characters), offsets


def locate_quote(quote: str, note: str) -> tuple[int, int] | None:
    """Return the quote's first place in the note, None if it is not there.

    `[start, end)` in code points. A quote must have a letter or digit, and must not begin or end
    within a word or number: "4" does not quote "14".
    """
    wanted, _ = normalise_text(quote)
    if not any(c.isalnum() for c in wanted):
        return None
    text, offsets = normalise_text(note)
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if _is_word_edge(text, at) and _is_word_edge(text, end):
            return offsets[at], offsets[end - 1] + 1
        at = text.find(wanted, at + 1)
    return None


def _is_word_edge(text: str, at: int) -> bool:
    return at in (0, len(text)) or not (text[at - 1].isalnum() and text[at].isalnum())
