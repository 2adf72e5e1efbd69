"""What the parts of the client share."""

from __future__ import annotations

from occurrent_client.transport import Transport


class Part:
    """A part of the API."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport


def find_dataset(transport: Transport, name: str) -> str:
    """Return the id of a dataset by its name or id.

    Raises LookupError if there is none, or several of that name.
    """
    return find_named(transport, "dataset", name)


def find_named(transport: Transport, kind: str, name: str) -> str:
    """Return the id of one of a kind of things by its name or id.

    Raises LookupError if there is none, or several of that name.
    """
    listed = [*transport.list_all(f"{kind}_list")]
    found = [one["id"] for one in listed if name in (one["id"], one["name"])]
    if len(found) != 1:
        names = ", ".join(sorted({one["name"] for one in listed}))
        what = "trajectories" if kind == "trajectory" else f"{kind}s"
        raise LookupError(
            f"{len(found) or 'No'} {what} are named {name}. Use an id, or one of: {names}."
        )
    return str(found[0])
