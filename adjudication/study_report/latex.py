"""A report as one LaTeX document. No Django.

It needs packages that every distribution has. Names in scripts other than Latin and Greek need
LuaLaTeX or XeLaTeX with a font that has them.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjudication.study_report.layout import LINE, column_widths, is_number, split_columns
from adjudication.study_report.values import Section, StudyReport
from timelines.evaluation.latex import tex, tex_row
from timelines.evaluation.tables import Table, format_words

_PREAMBLE = r"""\documentclass[10pt]{article}
\usepackage{iftex}
\ifPDFTeX\usepackage[T1]{fontenc}\fi
\usepackage{textcomp}
\usepackage[a4paper,landscape,margin=1.5cm]{geometry}
\usepackage{array,booktabs,longtable,graphicx}
\setlength{\tabcolsep}{2pt}
\setlength{\parindent}{0pt}
\setlength{\parskip}{4pt}
\setlength{\LTleft}{0pt}
\setcounter{secnumdepth}{0}
\newcolumntype{L}[1]{>{\raggedright\arraybackslash}p{#1\linewidth}}
\newcolumntype{R}[1]{>{\raggedleft\arraybackslash}p{#1\linewidth}}
"""
#: Share of a line that is left for the room between columns.
_COLUMNS = 0.94


def write_latex(report: StudyReport) -> str:
    """Return the report as LaTeX; figures are read from the folder `figures`."""
    return "\n".join([_PREAMBLE, r"\begin{document}", *_body(report), r"\end{document}", ""])


def _body(report: StudyReport) -> Iterator[str]:
    yield rf"{{\LARGE\bfseries {tex(report.title)}\par}}"
    yield from _say([report.about] if report.about else [])
    yield from _part("What was found", report.found)
    for section in report.sections:
        yield from _section(section)
    yield from _part("What differs from the published design", report.differences)
    yield from _part("To repeat this study", ())
    for name, pairs in report.settings.items():
        yield from _lay(Table("settings", name, ("Setting", "Value"), tuple(pairs)))


def _part(title: str, sentences: tuple[str, ...]) -> Iterator[str]:
    yield rf"\section{{{tex(title)}}}"
    yield from _say(sentences)


def _say(sentences: list[str] | tuple[str, ...]) -> Iterator[str]:
    for sentence in sentences:
        yield f"{tex(sentence)}\\par"


def _section(section: Section) -> Iterator[str]:
    yield from _part(section.title, (*filter(None, (section.missing,)), *section.found))
    for figure in section.figures:
        file = f"figures/{section.name}-{figure.name}.pdf"
        yield rf"\subsection{{{tex(figure.title)}}}"
        yield rf"\includegraphics[width=0.75\linewidth]{{\detokenize{{{file}}}}}\par"
    for table in section.tables:
        yield from _lay(table)


def _lay(table: Table) -> Iterator[str]:
    """Yield a table that goes over pages.

    A wide one is in parts, one below the other.
    """
    for number, part in enumerate(split_columns(table)):
        title = f"{table.title} (continued)" if number else table.title
        yield rf"\subsection{{{tex(title)}}}"
        yield rf"{{\scriptsize\begin{{longtable}}{{{_columns(part)}}}"
        yield rf"\toprule {tex_row(part.heads)} \midrule \endhead \bottomrule \endfoot"
        yield from (tex_row([format_words(cell) for cell in row]) for row in part.rows)
        yield r"\end{longtable}}"


def _columns(table: Table) -> str:
    return "".join(
        f"{'R' if is_number(table, at) else 'L'}{{{_COLUMNS * width / LINE:.4f}}}"
        for at, width in enumerate(column_widths(table))
    )
