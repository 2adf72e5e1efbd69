"""Send one message to a webhook: signed, to the address that was checked.

The standard library's client is used because it lets the connection go to the resolved address
while TLS checks the name; it follows no redirect.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import socket
import ssl
import time
from collections.abc import Mapping

from jobs.leases.hold import Hold, write_guard
from jobs.models import JobState, WebhookDelivery
from jobs.webhooks.addresses import Target, find_target
from jobs.worker import work

SECONDS = 10.0
SIGNATURE = "Occurrent-Signature"


class DeliveryFailed(RuntimeError):
    """The receiver did not accept the message."""

    log_safe = True


def execute_delivery(delivery_id: int) -> JobState | None:
    """Send the message if it waits; return the new state."""
    return work(WebhookDelivery, delivery_id, _deliver)


def sign(secret: str, at: int, body: bytes) -> str:
    """Return the signature: HMAC-SHA256 of the time, a dot and the body."""
    signed = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256)
    return f"t={at},v1={signed.hexdigest()}"


def make_body(delivery: WebhookDelivery) -> bytes:
    """Return the message: ids alone."""
    return json.dumps(
        {
            "id": delivery.public_id,
            "event": delivery.event,
            "study": delivery.webhook.study.public_id,
            "object": delivery.object_id,
        }
    ).encode()


def _deliver(delivery: WebhookDelivery, hold: Hold) -> None:
    body = make_body(delivery)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "occurrent",
        SIGNATURE: sign(delivery.webhook.secret, int(time.time()), body),
    }
    status = _post(find_target(delivery.webhook.url), body, headers)
    with write_guard(hold):
        WebhookDelivery.objects.filter(pk=delivery.pk).update(status=status)
    if not 200 <= status < 300:
        raise DeliveryFailed(f"the receiver answered {status}")


def _post(target: Target, body: bytes, headers: Mapping[str, str]) -> int:
    """Return the status of the answer; its body is not read."""
    connection = _Pinned(target)
    try:
        connection.request("POST", target.path, body, dict(headers))
        return connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise DeliveryFailed(f"the receiver did not answer: {type(error).__name__}") from None
    finally:
        connection.close()


class _Pinned(http.client.HTTPConnection):
    """A connection to the checked address of the host."""

    def __init__(self, target: Target) -> None:
        super().__init__(target.host, target.port, timeout=SECONDS)
        self._target = target

    def connect(self) -> None:
        """Connect to the address; for https, check the name's certificate."""
        plain = socket.create_connection((self._target.ip, self._target.port), SECONDS)
        if self._target.https:
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(plain, server_hostname=self._target.host)
        else:
            self.sock = plain
