"""Figures of servers in the database.

See `llm_runtime.calls.server_facts`.
"""

from __future__ import annotations

from asgiref.sync import sync_to_async

from llm_runtime.models import ServedTokens


class StoredFacts:
    """Shared by all processes on the database.

    It works on the connection of the thread that waits for the coroutine.
    """

    async def find(self, model: str, of: str) -> int | None:
        """As `ServerFacts.find`."""
        return await sync_to_async(_find_tokens)(model, of)

    async def keep(self, model: str, of: str, tokens: int) -> None:
        """As `ServerFacts.keep`; of two writers at once the later one stays."""
        await sync_to_async(_store_tokens)(model, of, tokens)


def _find_tokens(model: str, of: str) -> int | None:
    return ServedTokens.objects.filter(model=model, of=of).values_list("tokens", flat=True).first()


def _store_tokens(model: str, of: str, tokens: int) -> None:
    ServedTokens.objects.bulk_create(
        [ServedTokens(model=model, of=of, tokens=tokens)],
        update_conflicts=True,
        unique_fields=["model", "of"],
        update_fields=["tokens"],
    )
