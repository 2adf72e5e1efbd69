"""The last steps of a review: blinding check, signature, receipt.

A signature can be withdrawn too.
"""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.audit.chain import Head
from accounts.ids import new_public_id
from accounts.provider.confirmation import ConfirmationNeeded, has_mark
from accounts.scoping import StudyRequest, study_role_required
from accounts.sign_in.password_check import Purpose, WrongPassword
from adjudication.review import decisions, slots
from adjudication.review.decisions import DecisionRefused, NotFinished
from adjudication.review.history import load_guess_lines
from adjudication.review.opening import (
    CHECK_LATER,
    closed_words,
    find_own_assignment,
    find_signature,
    may_guess,
    store_guess,
)
from adjudication.review.trail import record_answers
from adjudication.states import InvalidTransition


@require_http_methods(["GET", "POST"])
@study_role_required()
def review_guess(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Run the blinding check over one's own items, once all are decided.

    Answers can be left out.
    """
    assignment = find_own_assignment(request, public_id)
    if not may_guess(assignment):
        messages.info(request, CHECK_LATER)
        return redirect("adjudication:review_packet", public_id)
    lines = load_guess_lines(assignment)
    if request.method == "GET":
        record_answers(assignment=assignment)
        return render(
            request,
            "adjudication/review/guess.html",
            {"assignment": assignment, "packet": assignment.packet, "lines": lines},
        )
    chosen = {line.item: request.POST.get(f"guess-{line.item}", "") for line in lines}
    for item_id, guessed in chosen.items():
        if guessed in decisions.GUESSES:
            store_guess(
                assignment=assignment,
                item_id=item_id,
                guess=guessed,
                token=new_public_id(),
                by=request.user,
            )
    messages.success(request, "Your guesses are stored. Thank you.")
    return redirect("adjudication:review_packet", public_id)


@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
@study_role_required()
def review_sign(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Sign with the password or after a new sign-in; redirect to the receipt."""
    assignment = find_own_assignment(request, public_id)
    if assignment.signed_at is not None:
        return redirect("adjudication:review_receipt", public_id)
    error, status = "", 200
    progress = slots.progress(assignment=assignment)
    if request.method == "GET" and not may_guess(assignment):
        messages.info(request, "You can sign after the last item, while the packet is open.")
        return redirect("adjudication:review_packet", public_id)
    if request.method == "POST":
        try:
            decisions.sign(
                assignment=assignment,
                password=request.POST.get("password", ""),
                by=request.user,
                request=request,
            )
        except (WrongPassword, ConfirmationNeeded) as refused:
            error, status = str(refused), 400
        except NotFinished as refused:
            error, status = f"{refused} You can sign after the last item.", 400
        except DecisionRefused as refused:
            error, status = str(refused), 400
        except InvalidTransition as refused:
            error, status = closed_words(refused), 400
        else:
            return redirect("adjudication:review_receipt", public_id)
    context = {
        "assignment": assignment,
        "packet": assignment.packet,
        "progress": progress,
        "error": error,
        "by_password": request.user.has_usable_password(),
        "confirmed": has_mark(request, Purpose.SIGNATURE, assignment.public_id),
        "purpose": Purpose.SIGNATURE,
    }
    return render(request, "adjudication/review/sign.html", context, status=status)


@require_POST
@study_role_required()
def review_unsign(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Withdraw the signature, with a reason; both stay in the chain."""
    assignment = find_own_assignment(request, public_id)
    try:
        decisions.unsign(
            assignment=assignment, reason=request.POST.get("reason", ""), by=request.user
        )
    except DecisionRefused as refused:
        messages.error(request, str(refused))
        return redirect("adjudication:review_receipt", public_id)
    except InvalidTransition as refused:
        messages.info(
            request,
            closed_words(refused),
        )
    else:
        messages.success(
            request, "Your signature was withdrawn. You can change answers and sign again."
        )
    return redirect("adjudication:review_packet", public_id)


@require_GET
@study_role_required()
def review_receipt(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show the receipt of the current signature. Raises Http404 without one."""
    assignment = find_own_assignment(request, public_id)
    context = {
        "assignment": assignment,
        "packet": assignment.packet,
        "link": find_signature(assignment),
    }
    return render(request, "adjudication/review/receipt.html", context)


@require_GET
@study_role_required()
def review_receipt_file(request: StudyRequest, public_id: str) -> HttpResponse:
    """Return the receipt as a text file."""
    assignment = find_own_assignment(request, public_id)
    link = find_signature(assignment)
    lines = [
        "Receipt of a signed review",
        f"packet: {assignment.packet.public_id}",
        f"review: {assignment.public_id}",
        f"signed by: {assignment.person.get_username()}",
        f"signed at: {link.at:%Y-%m-%d %H:%M:%S} UTC",
        f"items decided: {link.detail.get('decided')}",
        f"link of the chain: {link.sequence}",
        f"head that it covers (SHA-256): {link.detail.get('head')}",
        f"hash of the signature (SHA-256): {link.hash}",
        *(
            [f"head of the audit trail before it: {Head.from_detail(link.detail)}"]
            if "audit_head" in link.detail
            else []
        ),
    ]
    name = f"review-receipt-{assignment.public_id}.txt"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(
        "\n".join([*lines, ""]), content_type="text/plain; charset=utf-8", headers=headers
    )
