"""The help page: the glossary, for everyone who is signed in."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.glossary import terms


@require_GET
@login_required
def help_page(request: HttpRequest) -> HttpResponse:
    """Show every term with its definition."""
    return render(request, "accounts/help.html", {"glossary": terms()})
