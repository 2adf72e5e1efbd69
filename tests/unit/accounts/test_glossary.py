"""The glossary: GLOSSARY.md follows its file, and tags explain its terms."""

from __future__ import annotations

from django.template import Context, Template
from django.test import RequestFactory

from accounts import glossary

LONGEST_MEANING = 130


def _page(words: str, request=None) -> str:
    template = Template("{% load glossary %}{% terms words %}|{% term_definitions %}")
    return template.render(Context({"words": words, "request": request}))


def test_the_page_follows_the_file():
    assert glossary.PAGE.read_text(encoding="utf-8") == glossary.render(), (
        "run python -m accounts.glossary"
    )


def test_each_definition_is_one_line_with_an_address_of_its_own():
    terms = glossary.terms()
    assert len({term.slug for term in terms}) == len(terms)
    assert [term.name for term in terms if len(term.meaning) > LONGEST_MEANING] == []
    assert [term.name for term in terms if not term.meaning.endswith(".")] == []
    assert [term.name for term in terms if "|" in term.meaning] == []


def test_each_term_that_pages_show_has_a_definition():
    spellings = glossary.terms_by_spelling()
    assert {"AULTC", "ρ", "Bradley–Terry", "UID", "GAVEL", "κ", "Concordance"} <= set(spellings)


def test_a_term_becomes_a_button_and_its_definition_follows_once():
    page = _page("AULTC and <b>AULTC</b>", RequestFactory().get("/"))
    head, definitions = page.split("|")
    button = '<button type="button" class="term" popovertarget="term-aultc">AULTC</button>'
    assert head == f"{button} and &lt;b&gt;{button}&lt;/b&gt;"
    assert definitions.count('id="term-aultc"') == 1
    assert "/help/#aultc" in definitions


def test_the_longest_spelling_is_taken_and_parts_of_words_are_not():
    pattern = glossary.spelling_pattern()
    assert pattern.findall("Cohen's κ, κappa, UIDs, no_uid") == ["Cohen's κ", "UIDs"]


def test_words_without_a_page_are_escaped_and_stay():
    assert _page("AULTC < 1").startswith("AULTC &lt; 1|")
