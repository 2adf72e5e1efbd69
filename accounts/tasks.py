"""Periodic work of this app."""

from __future__ import annotations

from celery import shared_task

from accounts.notifications.mail import send_waiting
from accounts.requests.counting import delete_ended


@shared_task(name="accounts.tasks.send_mail")
def send_mail() -> None:
    """Send the notifications that wait for e-mail."""
    send_waiting()


@shared_task(name="accounts.tasks.delete_ended_counts")
def delete_ended_counts() -> None:
    """Delete counts of sign-ins and requests whose window has ended."""
    delete_ended()
