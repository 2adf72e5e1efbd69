"""The LaTeX of a report: its structure, and names that stay text.

No TeX is needed: a small reader checks braces, environments and the cells of each row.
"""

from __future__ import annotations

import re

from adjudication.study_report.latex import write_latex
from adjudication.study_report.values import Section
from tests.unit.adjudication.study_report.small import HOSTILE, make_report
from timelines.evaluation.latex import tex
from timelines.evaluation.tables import Table

#: Every command that a report may have, those of signs among them.
COMMANDS = {
    *("documentclass", "usepackage", "ifPDFTeX", "fi", "setlength", "tabcolsep", "parindent", "parskip", "LTleft"),
    *("setcounter", "newcolumntype", "raggedright", "raggedleft", "arraybackslash", "linewidth", "begin", "end"),
    *("LARGE", "bfseries", "par", "section", "subsection", "includegraphics", "detokenize", "scriptsize"),
    *("toprule", "midrule", "bottomrule", "endhead", "endfoot", "textbackslash", "textasciitilde", "textless"),
    *("textasciicircum", "textgreater", "char", "textasciigrave", "textendash", "ldots", "frac", "kappa", "geq"),
    *("rho", "rightarrow", "theta", "pm", "cdot", "Delta", "times", "approx", "Sigma"),
}  # fmt: skip


def find_commands(text):
    return set(re.findall(r"\\([A-Za-z]+)", text.replace(r"\\", "")))


def check_braces(text):
    depth = 0
    for sign in re.sub(r"\\.", "", text):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        assert depth >= 0
    assert depth == 0


def check_environments(text):
    open_ones = []
    for what, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if what == "begin":
            open_ones.append(name)
        else:
            assert open_ones.pop() == name
    assert not open_ones


def check_rows(text):
    """Each row has as many cells as its table has columns."""
    tables = re.findall(r"\\begin\{longtable\}\{(.*?)\}\n(.*?)\\end\{longtable\}", text, re.S)
    for columns, body in tables:
        width = len(re.findall(r"[LR]\{", columns))
        rows = [line for line in body.splitlines() if line.endswith("\\\\") or "\\\\ " in line]
        assert rows
        for row in rows:
            assert len(re.findall(r"(?<!\\)&", row)) == width - 1
    return len(tables)


def test_the_document_is_whole_and_every_command_is_ours():
    text = write_latex(make_report())
    check_braces(text)
    check_environments(text)
    assert check_rows(text) == 3
    assert find_commands(text) <= COMMANDS
    assert text.startswith("\\documentclass")
    assert text.endswith("\\end{document}\n")


def test_it_says_what_the_report_says_in_order():
    report = make_report()
    text = write_latex(report)
    parts = [
        r"\section{What was found}",
        tex(report.found[0]),
        r"\section{Main, pairs by span}",
        r"\includegraphics[width=0.75\linewidth]{\detokenize{figures/main-span-match.pdf}}",
        r"rules & revised & 2 & 0.812 (0.750 to 0.875) & \textendash{} \\",
        r"rules (published) & revised & 40 & 0.900 & 1.25 \\",
        r"\section{Judge}",
        "Not part of this study.",
        r"\section{What differs from the published design}",
        r"\section{To repeat this study}",
        "ab" * 32,
    ]
    places = [text.find(part) for part in parts]
    assert -1 not in places, parts[places.index(-1)]
    assert places == sorted(places)


def test_hostile_names_everywhere_leave_the_structure_as_it_is():
    for name in HOSTILE:
        table = Table("t", name, (name, name), ((name, name),))
        section = Section("s", name, (name,), (table,), (), name)
        text = write_latex(
            make_report(
                title=name, about=name, sections=(section,), settings={name: ((name, name),)}
            )
        )
        check_braces(text)
        check_environments(text)
        assert check_rows(text) == 2
        assert find_commands(text) <= COMMANDS
        assert "input{" not in text


def test_columns_leave_room_for_the_space_between_them():
    heads = tuple(f"head{n:03}" for n in range(60))
    table = Table("t", "T", heads, (tuple(f"cell{n:03}" for n in range(60)),))
    text = write_latex(make_report(sections=(Section("s", "S", tables=(table,)),)))
    assert text.count(r"\subsection{T (continued)}") >= 2
    for columns in re.findall(r"\\begin\{longtable\}\{(.*?)\}\n", text):
        shares = [float(share) for share in re.findall(r"[LR]\{([\d.]+)\}", columns + "}")]
        assert 0 < sum(shares) <= 0.9405
    for n in range(60):
        assert f"cell{n:03}" in text
