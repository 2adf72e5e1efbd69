"""The home page with the apps' registered cards; the choice of a study."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.registry import Place, home_cards
from accounts.scoping import active_study, set_active_study


@require_GET
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """Show what needs this person in the active study.

    Someone without a study reads how to join one.
    """
    study = active_study(request)
    cards = home_cards(request.user, study) if study and request.user.is_authenticated else []
    context = {
        "lead": next((card.lead for card in cards if card.lead), None),
        "tasks": [task for card in cards if card.place is Place.NEXT for task in card.tasks],
        "main": [card for card in cards if card.place is Place.MAIN],
        "side": [card for card in cards if card.place is Place.SIDE],
    }
    return render(request, "accounts/home.html", context)


@require_POST
@login_required
def switch_study(request: HttpRequest) -> HttpResponse:
    """Make another study of the person's the active one; go to its home page."""
    set_active_study(request, request.POST.get("study", ""))
    return redirect("home")
