"""Start reconstructions and read timelines of an Occurrent server."""

from occurrent_client.client import Occurrent
from occurrent_client.errors import ConnectionLost, OccurrentError, RunEnded, TookTooLong

__all__ = ["ConnectionLost", "Occurrent", "OccurrentError", "RunEnded", "TookTooLong"]
