"""Send the notifications that people want by e-mail.

The row is the queue: a mail that could not be sent stays there and is tried again. A mail has the
words of the notification's kind and a link, never a name from a record.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from smtplib import SMTPDataError, SMTPException, SMTPRecipientsRefused

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from django.utils import timezone

from accounts.models import Notification
from accounts.notifications.choices import mail_is_set_up

log = logging.getLogger(__name__)

#: Mails of one round; the next round sends the rest.
AT_ONCE = 200
#: A mail that could not be sent for so long is given up.
GIVE_UP_AFTER = timedelta(days=3)


def send_waiting() -> int:
    """Send the waiting mails over one connection; return how many were sent."""
    if not mail_is_set_up():
        return 0
    sent = 0
    with transaction.atomic():
        waiting = (
            Notification.objects.select_for_update(skip_locked=True, of=("self",))
            .filter(
                mail=True,
                mailed_at__isnull=True,
                recipient__is_active=True,
                created_at__gte=timezone.now() - GIVE_UP_AFTER,
            )
            .select_related("recipient")
            .order_by("pk")[:AT_ONCE]
        )
        rows = list(waiting)
        if not rows:
            return 0
        try:
            with get_connection() as connection:
                for row in rows:
                    try:
                        _message(row, connection).send()
                    except (SMTPRecipientsRefused, SMTPDataError, ValueError) as error:
                        # Only this mail waits: its address is refused or cannot be written.
                        _warn(error)
                        continue
                    row.mailed_at = timezone.now()
                    row.save(update_fields=["mailed_at"])
                    sent += 1
        except (OSError, SMTPException) as error:
            _warn(error)
    return sent


def _warn(error: Exception) -> None:
    # Its text may have addresses of people; its kind says enough.
    log.warning("mails wait: %s", type(error).__name__)


def _message(row: Notification, connection: BaseEmailBackend) -> EmailMessage:
    kind = Notification.Kind(row.kind)
    lines = [
        f"{kind.label}.",
        f"{settings.SITE_URL.rstrip('/')}{row.path}",
        "You can choose what is sent to you on the page Notifications.",
    ]
    return EmailMessage(
        f"Occurrent: {kind.label.lower()}",
        "\n\n".join(lines),
        settings.DEFAULT_FROM_EMAIL,
        [row.recipient.email],
        connection=connection,
    )
