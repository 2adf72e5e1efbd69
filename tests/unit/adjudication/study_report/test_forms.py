"""The archive has each form, and figures as the forms need them."""

from __future__ import annotations

import io
import zipfile

from pypdf import PdfReader

from adjudication.study_report.drawing import draw_pdf
from adjudication.study_report.files import pack
from adjudication.study_report.latex import write_latex
from tests.unit.adjudication.study_report.small import make_report


def test_the_latex_finds_its_figures_in_the_archive():
    report = make_report()
    archive = zipfile.ZipFile(io.BytesIO(pack(report, "name: x\n")))
    names = archive.namelist()
    assert len(names) == len(set(names))
    assert archive.read("report.tex").decode() == write_latex(report)
    figure = archive.read("figures/main-span-match.pdf")
    assert "figures/main-span-match.svg" in names
    assert "rules" in PdfReader(io.BytesIO(figure)).pages[0].extract_text()


def test_a_figure_gives_the_same_bytes_each_time():
    (figure,) = make_report().sections[0].figures
    assert draw_pdf(figure) == draw_pdf(figure)
