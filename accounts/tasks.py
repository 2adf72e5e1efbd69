"""Periodic work of this app."""

from __future__ import annotations

from celery import shared_task

from accounts.notifications.mail import send_waiting


@shared_task(name="accounts.tasks.send_mail")
def send_mail() -> None:
    """Send the notifications that wait for e-mail."""
    send_waiting()
