"""Tooltips for terms of the glossary.

`{% terms words %}` makes each term in `words` a button that opens its definition: by mouse,
keyboard or touch, without a script. `{% term_definitions %}` in the base template adds one
definition for each term that the page used. Popovers are drawn above the page, so a table that
scrolls does not cut them off.
"""

from __future__ import annotations

from django import template
from django.template.context import Context
from django.template.loader import render_to_string
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from accounts.glossary import Term, spelling_pattern, terms_by_spelling

register = template.Library()
_USED = "glossary_terms"


@register.simple_tag(takes_context=True)
def terms(context: Context, words: object) -> SafeString:
    """Return the escaped words with a button for each term.

    Without a request, no buttons are added.
    """
    text = str(words)
    request = context.get("request")
    if request is None:
        return conditional_escape(text)
    used: dict[str, Term] = request.__dict__.setdefault(_USED, {})
    parts: list[str] = []
    end = 0
    for found in spelling_pattern().finditer(text):
        term = terms_by_spelling()[found[0]]
        used[term.slug] = term
        parts += [conditional_escape(text[end : found.start()]), _button(term, found[0])]
        end = found.end()
    return mark_safe("".join([*parts, conditional_escape(text[end:])]))


def _button(term: Term, spelling: str) -> SafeString:
    return format_html(
        '<button type="button" class="term" popovertarget="term-{}">{}</button>',
        term.slug,
        spelling,
    )


@register.simple_tag(takes_context=True)
def term_definitions(context: Context) -> SafeString:
    """Return the definitions of the terms that this page used."""
    used: dict[str, Term] = getattr(context.get("request"), _USED, {})
    return render_to_string("accounts/_term_definitions.html", {"used": used.values()})
