"""What providers share that use the client library of OpenAI.

The library, its three jittered attempts, addresses. The client's own retries are off. Error texts
of a server may quote the prompt, so none of them is passed on.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import TypeVar
from urllib.parse import urlsplit

from accounts.wording import format_count
from llm_runtime.base import ProviderError
from llm_runtime.errors import ModelError, Unavailable

Answer = TypeVar("Answer")

#: Tries to reach the server for one request, before it counts as unavailable.
TRIES = 3
_BUSY = frozenset({408, 409, 425, 429})


def client_library(who: str) -> ModuleType:
    """Import the package openai, a second or more the first time.

    Raises ProviderError if it is missing; `who` needs it.
    """
    try:
        import openai
    except ImportError:
        raise ProviderError(f"{who} needs the package openai: pip install openai") from None
    return openai


def parse_host(base_url: str, port: int) -> str:
    """Return host and port of an address.

    Raises ProviderError if there is none, or a password, which would show in names of models;
    `port` is the example's.
    """
    parts = urlsplit(base_url)
    if "@" in parts.netloc:
        raise ProviderError("base_url must not have a user or a password: use api_key_env")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ProviderError(
            f"base_url must be an http or https address such as http://127.0.0.1:{port}/v1"
        )
    return parts.netloc


async def call_with_retries(
    call: Callable[[], Awaitable[Answer]],
    *,
    name: str,
    refusal: Callable[[int, str], ModelError],
    tries: int = TRIES,
    backoff: float = 1.0,
) -> Answer:
    """Return the answer to a call, with retries.

    After connect, timeout, 429 and 5xx, never after 400. `refusal` makes the error of a status and
    the server's words; `backoff` is seconds before the second try, twice that before the third.
    Raises Unavailable, and what `refusal` makes.
    """
    openai = client_library(name)
    for attempt in range(1, tries + 1):
        try:
            return await call()
        except openai.APIStatusError as error:
            if error.status_code < 500 and error.status_code not in _BUSY:
                raise refusal(error.status_code, str(error)) from None
            failure = f"the server answered {error.status_code}"
        except openai.APITimeoutError:
            failure = "the server did not answer in time"
        except openai.APIConnectionError:
            failure = "the server could not be reached, or broke off"
        except (openai.APIError, ValueError):
            failure = "the server sent something that is no answer"
        if attempt < tries:
            await asyncio.sleep(backoff * 2 ** (attempt - 1) * random.uniform(0.5, 1.5))
    raise Unavailable(f"{name}: {failure} ({format_count(tries, 'attempt')})")
