"""What can go wrong with the embedded services, always said with the way out."""

from __future__ import annotations


class ServiceError(Exception):
    """A service could not be started, reached or stopped; the message says which, why, and what to do."""

    log_safe = True
