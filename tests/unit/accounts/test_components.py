"""The parts that many pages share."""

from __future__ import annotations

import pytest
from django.template import Context, Template
from django.test import RequestFactory


def render(source: str, **context: object) -> str:
    return " ".join(Template(source).render(Context(context)).split())


def test_a_table_scrolls_has_a_name_and_escapes_it():
    shown = render(
        '{% table name look="figures" wrap="wide" %}<tbody>{{ cell }}</tbody>{% endtable %}',
        name="<b>",
        cell="<i>",
    )
    assert shown == (
        '<div class="table-wrap wide" tabindex="0" role="region" aria-label="&lt;b&gt;">'
        ' <table class="table figures"> <tbody>&lt;i&gt;</tbody> </table> </div>'
    )


def test_a_caption_names_the_table_too():
    shown = render('{% table caption="Rates" %}{% endtable %}')
    assert 'aria-label="Table: Rates"' in shown
    assert '<caption class="visually-hidden">Rates</caption>' in shown


def test_heads_say_their_look_after_a_bar():
    assert render('{% heads "Run" "Cases|num" "Open|hidden" %}') == (
        '<thead><tr><th scope="col">Run</th><th scope="col" class="num">Cases</th>'
        '<th scope="col"><span class="visually-hidden">Open</span></th></tr></thead>'
    )
    with pytest.raises(ValueError, match="unknown look 'numb'"):
        render('{% heads "Cases|numb" %}')


def test_heads_explain_terms_that_are_marked():
    button = '<button type="button" class="term" popovertarget="term-within-tolerance">'
    assert render(
        '{% heads "AULTC" "Within tolerance|num term" "Run|term" %}',
        request=RequestFactory().get("/"),
    ) == (
        '<thead><tr><th scope="col">AULTC</th>'
        f'<th scope="col" class="num">{button}Within tolerance</button></th>'
        '<th scope="col">Run</th></tr></thead>'
    )


def test_an_empty_list_says_what_would_be_here():
    assert (
        render('{% empty_state "No run yet" %}<p>{{ words }}</p>{% endempty_state %}', words="<b>")
        == '<div class="empty"> <h2>No run yet</h2> <p>&lt;b&gt;</p> </div>'
    )
    assert render("{% empty_state name level=1 %}{% endempty_state %}", name="<i>") == (
        '<div class="empty"> <h1>&lt;i&gt;</h1> </div>'
    )


def test_filters_are_in_the_address_and_load_the_list_alone_if_it_is_named():
    plain = render('{% filters "Filter" %}{{ words }}{% endfilters %}', words="<b>")
    assert plain == (
        '<form method="get" class="filter-row" aria-label="Filter" > &lt;b&gt;'
        ' <button class="button" type="submit">Show</button> </form>'
    )
    live = render('{% filters "Filter" action="/runs/" target="run-list" %}{% endfilters %}')
    assert 'hx-get="/runs/" hx-target="#run-list" hx-swap="outerHTML" hx-push-url="true"' in live
    assert 'hx-trigger="submit, change"' in live
    at_once = render('{% filters "Filter" at_once=True %}{% endfilters %}')
    assert "data-submit-on-change" in at_once
    assert "data-replaced-by-change" in at_once


def test_a_search_sends_its_words_in_the_body():
    shown = render(
        '{% search action="/cases/" target="case-list" text="words" choices="state sort" %}'
        "{% endsearch %}"
    )
    assert shown.startswith('<form method="post" action="/cases/" class="filter-row" role="search"')
    assert 'hx-post="/cases/" hx-target="#case-list"' in shown
    assert "hx-push-url" not in shown
    assert (
        'hx-trigger="submit, change from:#state, change from:#sort,'
        ' input changed delay:250ms from:#words"'
    ) in shown


def test_what_polls_marks_its_requests():
    assert render('<p {% poll "3s" %}>') == (
        '<p hx-trigger="every 3s" hx-swap="outerHTML" hx-headers=\'{"X-Background-Poll": "1"}\'>'
    )


def test_words_between_backticks_are_code_and_the_rest_is_escaped():
    from accounts.templatetags.components import code_marks

    assert code_marks("No worker for `embed`. 2 < 3") == (
        "No worker for <code>embed</code>. 2 &lt; 3"
    )
    assert code_marks("`<b>`") == "<code>&lt;b&gt;</code>"
    assert code_marks("plain") == "plain"
