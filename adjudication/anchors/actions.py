"""Write the heads of all chains to the anchor file, outside the database."""

from __future__ import annotations

import logging
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import send_mail
from django.utils import timezone

from adjudication.anchors.files import AnchorFile, Line, last_digest, open_for_appending
from adjudication.anchors.heads import find_heads
from adjudication.anchors.keys import describe_key, load_or_make_key
from adjudication.anchors.lines import Anchor, Head, find_changed
from adjudication.anchors.stamps import StampFailed, load_roots, request_stamp

logger = logging.getLogger(__name__)


def anchor_chains(*, restored: str = "") -> Anchor | None:
    """Append the current heads; return the line, or None if no head changed.

    `restored`: the database was restored from a backup, for this reason; links that earlier lines
    name and the backup lacks are then no faults. Without a time stamp or a mail the line is written
    all the same, and the log says so. Raises AnchorError.
    """
    with open_for_appending(settings.ANCHOR_FILE) as file:
        anchor = _append(file, restored)
    if anchor is not None:
        _send(anchor)
    return anchor


def _append(file: AnchorFile, restored: str) -> Anchor | None:
    lines = file.read()
    key = load_or_make_key(settings.ANCHOR_KEY_FILE)
    trail, packets = find_heads()
    noted_trail, noted = _noted(lines)
    changed = packets if restored else find_changed(packets, noted)
    if trail == noted_trail and not changed and not restored:
        return None
    anchor = Anchor(
        sequence=len(lines) + 1,
        at=timezone.now().isoformat(timespec="seconds"),
        trail=trail,
        packets=changed,
        restored=restored,
        previous=last_digest(lines),
        key=describe_key(key),
    ).sign(key)
    anchor = anchor.model_copy(update={"stamp": _stamp(anchor)})
    file.append(anchor)
    return anchor


def _noted(lines: list[Line]) -> tuple[Head, dict[str, Head]]:
    """Return the heads that the file noted last."""
    trail: Head = (0, "")
    packets: dict[str, Head] = {}
    for line in lines:
        if line.anchor is not None:
            trail = line.anchor.trail
            packets |= line.anchor.packets
    return trail, packets


def _stamp(anchor: Anchor) -> str:
    if not settings.ANCHOR_TSA_URL:
        return ""
    try:
        roots = load_roots(settings.ANCHOR_TSA_CERTIFICATES_FILE)
        return request_stamp(settings.ANCHOR_TSA_URL, anchor.stamped_bytes(), roots)
    except StampFailed as error:
        logger.warning("anchor %s has no time stamp: %s", anchor.sequence, error)
        return ""


def _send(anchor: Anchor) -> None:
    """Mail the line, so that a copy of it is elsewhere."""
    if not (settings.ANCHOR_EMAIL and settings.EMAIL_HOST):
        return
    try:
        send_mail(
            f"Occurrent: anchor {anchor.sequence}",
            anchor.as_line().decode() + "\n",
            settings.DEFAULT_FROM_EMAIL,
            settings.ANCHOR_EMAIL,
        )
    except (OSError, SMTPException) as error:
        logger.warning("anchor %s was not mailed: %s", anchor.sequence, type(error).__name__)
