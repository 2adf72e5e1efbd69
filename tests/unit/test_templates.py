"""Rules for every template, so that no data changes what a page does."""

from __future__ import annotations

import re

import pytest
from django.template import Context, Template
from django.template.loader import get_template

from tests import paths

ROOT = paths.ROOT / "templates"
#: Names that a template looks up as a key first: with data keys, `d.items` may be the value of a
#: key "items".
SHADOWED = re.compile(r"\b([a-z_]+)\.(items|keys|values|get|pop|copy|update|clear)\b(?![\w(])")
#: Counts and lists of our own dataclasses, which have no keys: (name, attribute).
ATTRIBUTES = {("card", "items"), ("drawn", "items")}
TAGS = re.compile(r"{[{%].*?[%}]}", re.DOTALL)


@pytest.mark.parametrize(
    "path", sorted(ROOT.rglob("*.html")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_templates_compile_and_no_tag_spans_two_lines(path):
    get_template(str(path.relative_to(ROOT)))
    assert re.findall(r"{%[^%]*\n[^%]*%}|{{[^}]*\n[^}]*}}", path.read_text(encoding="utf-8")) == []


def test_no_template_looks_up_a_method_of_a_mapping_by_name():
    found = [
        (path.relative_to(ROOT).as_posix(), match.group())
        for path in sorted(ROOT.rglob("*.html"))
        for tag in TAGS.findall(path.read_text(encoding="utf-8"))
        for match in SHADOWED.finditer(tag)
        if match.groups() not in ATTRIBUTES
    ]
    assert not found, "use the filter `pairs`"


@pytest.mark.parametrize("key", ["items", "keys", "values", "0", "<b>"])
def test_pairs_show_every_key(key):
    shown = Template(
        "{% load mappings %}{% for k, v in d|pairs %}{{ k }}={{ v }};{% endfor %}"
    ).render(Context({"d": {key: 3, "other": 4}}))
    assert shown == f"{'&lt;b&gt;' if key == '<b>' else key}=3;other=4;"


def test_no_line_is_longer_than_160_characters():
    long = [
        f"{path.relative_to(ROOT).as_posix()}:{number}"
        for path in sorted(ROOT.rglob("*.html"))
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1)
        if len(line) > 160
    ]
    assert not long
