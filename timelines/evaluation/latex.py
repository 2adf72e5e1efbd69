"""Words of data as LaTeX: text only, never a command. No Django."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi"),
    *("pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi"),
    *("Pi", "Sigma", "Phi", "Psi", "Omega"),
)  # fmt: skip
#: `\char34` is a quotation mark in every encoding; the commands need no package.
_MATHS = {
    "½": r"\frac{1}{2}", "−": "-", "→": r"\rightarrow", "←": r"\leftarrow", "·": r"\cdot", "≤": r"\leq", "≥": r"\geq",
    "±": r"\pm", "≈": r"\approx", "×": r"\times", "≠": r"\neq", "∞": r"\infty", "µ": r"\mu", "°": r"^{\circ}",
}  # fmt: skip
_TEXT = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    '"': r"\char34{}", "`": r"\textasciigrave{}", "–": r"\textendash{}", "—": r"\textemdash{}", "…": r"\ldots{}",
}  # fmt: skip
#: Two of these signs in a row would be another sign.
_DOUBLED = re.compile(r"([-,'])(?=\1)")


def _letter(name: str) -> str:
    """Return the Greek letter of a command."""
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    unicode = {"lambda": "LAMDA", "Lambda": "LAMDA"}.get(name, name.upper())
    return unicodedata.lookup(f"GREEK {size} LETTER {unicode}")


_SIGNS = str.maketrans(
    {
        **_TEXT,
        **{sign: f"${command}$" for sign, command in _MATHS.items()},
        **{_letter(name): f"$\\{name}$" for name in _GREEK},
    }
)


def tex(words: str) -> str:
    """Return text on one line that LaTeX prints as it is.

    Control characters are spaces. A bracket or star at its start cannot be read as an argument of what is before it.
    """
    clean = "".join(" " if unicodedata.category(c) in ("Cc", "Cs") else c for c in words)
    text = _DOUBLED.sub(r"\1{}", " ".join(clean.split()).translate(_SIGNS))
    return f"{{}}{text}" if text[:1] in ("[", "*") else text


def tex_row(words: Sequence[str]) -> str:
    """Return a row of a table."""
    return " & ".join(map(tex, words)) + r" \\"
