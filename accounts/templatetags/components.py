"""Parts of pages that every template can use without `{% load %}`."""

from __future__ import annotations

from typing import Any

from django import template
from django.template.context import Context
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from accounts.templatetags.glossary import terms

register = template.Library()

#: What may follow a bar in the words of a head.
LOOKS = frozenset({"num", "extra", "num extra", "moment", "hidden"})


@register.simple_block_tag(end_name="endtable")
def table(
    content: str, label: str = "", *, caption: str = "", look: str = "", wrap: str = ""
) -> str:
    """Return a table that scrolls sideways and has a name for screen readers.

    `look` and `wrap` are more classes: of the table and of the element that scrolls.
    """
    given = {"content": content, "label": label or f"Table: {caption}", "caption": caption}
    return render_to_string("_components/table.html", given | {"look": look, "wrap": wrap})


@register.simple_block_tag(end_name="endempty_state")
def empty_state(content: str, title: str, *, level: int = 2) -> str:
    """Return what an empty place says: what it is for and how to fill it.

    `level` is that of the heading: 1 if the page has nothing else.
    """
    given = {"content": content, "title": title, "level": level}
    return render_to_string("_components/empty_state.html", given)


@register.simple_tag
def when(moment: Any) -> SafeString | str:
    """Return a time (`ehr.presentation.clock.Moment`) with its two parts.

    Styles show the one that the reader chose first: day and clock, or hours. "" for None.
    """
    if moment is None:
        return ""
    return format_html(
        '<time class="at"{}{}><span class="at-day">{}</span>{}</time>',
        format_html(' datetime="{}"', moment.iso) if moment.iso else "",
        format_html(' title="{}"', moment.exact) if moment.exact else "",
        moment.day,
        format_html(' <span class="at-hours">{}</span>', moment.hours) if moment.hours else "",
    )


@register.simple_tag
def said(moment: Any) -> SafeString | str:
    """Return a time within a sentence, or a sentence with times.

    One of its two ways is shown; a script (`js/common/moment.js`) writes the hours if the reader
    chose them.
    """
    if not moment.hours or moment.hours == moment.day:
        return str(moment.day)
    return format_html('<span data-in-hours="{}">{}</span>', moment.hours, moment.day)


@register.filter
def code_marks(sentence: str) -> SafeString:
    """Return a sentence of ours with the words between backticks as code."""
    parts = sentence.split("`")
    marked = ((format_html("<code>{}</code>", p) if n % 2 else p,) for n, p in enumerate(parts))
    return format_html_join("", "{}", marked)


@register.simple_block_tag(end_name="endfilters")
def filters(
    content: str,
    label: str = "",
    *,
    action: str = "",
    target: str = "",
    look: str = "",
    at_once: bool = False,
) -> str:
    """Return a form that filters a list; the page's address has the filters.

    With `target`, the id of the list, each choice loads the list alone. With `at_once` each choice
    submits the form. Otherwise its button does.
    """
    given = {"content": content, "label": label, "action": action, "look": look}
    live = {"target": target, "trigger": "submit, change" if target else "", "at_once": at_once}
    return render_to_string("_components/filters.html", given | live | {"method": "get"})


@register.simple_block_tag(end_name="endsearch")
def search(
    content: str, *, action: str, target: str, text: str, choices: str, name: str = ""
) -> str:
    """Return a form that searches a list while one types.

    No address has the words. `target` is the id of the list, `text` that of the field, `choices`
    those of the selects, `name` that of the form.
    """
    # The change of the field itself is no trigger: it comes when one clicks into the list, which
    # would be replaced under the click.
    changed = [f"change from:#{choice}" for choice in choices.split()]
    trigger = ", ".join(["submit", *changed, f"input changed delay:250ms from:#{text}"])
    given = {"content": content, "action": action, "target": target, "trigger": trigger}
    given |= {"name": name}
    return render_to_string("_components/filters.html", given | {"method": "post"})


@register.simple_tag(takes_context=True)
def heads(context: Context, *words: str) -> SafeString:
    """Return the head of a table.

    "Cases|num" is a column of numbers, "Open|hidden" is not visible. With "term" after the bar,
    as in "Concordance|num term", terms of the glossary in the words open their definition. Raises
    ValueError for any other word after the bar.
    """
    cells = [(_head(context, each),) for each in words]
    return format_html("<thead><tr>{}</tr></thead>", format_html_join("", "{}", cells))


def _head(context: Context, words: str) -> SafeString:
    text, _, look = words.partition("|")
    shown: SafeString | str = text
    if look == "term" or look.endswith(" term"):
        look = look.removesuffix("term").rstrip()
        shown = terms(context, text)
    if look and look not in LOOKS:
        raise ValueError(f"heads: unknown look {look!r}; use one of {sorted(LOOKS)}")
    if look == "hidden":
        return format_html('<th scope="col"><span class="visually-hidden">{}</span></th>', shown)
    kind = format_html(' class="{}"', look) if look else ""
    return format_html('<th scope="col"{}>{}</th>', kind, shown)


@register.simple_tag
def poll(every: str) -> SafeString:
    """Return the attributes that repeat an element's `hx-get` at an interval."""
    headers = """hx-headers='{"X-Background-Poll": "1"}'"""
    return format_html('hx-trigger="every {}" hx-swap="outerHTML" {}', every, mark_safe(headers))
