"""Requests to the server: names of operations become addresses.

A request whose answer is lost is sent again if that does no harm: reading, and starting something
with an idempotency key.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

import httpx

from occurrent_client.errors import ConnectionLost, OccurrentError
from occurrent_client.operations import OPERATIONS, Operation

ATTEMPTS = 4
FIRST_WAIT = 0.5
READ_SECONDS = 300.0
#: The server's limits for a person are for a minute; it says how long to wait.
TOO_MANY, LONGEST_WAIT = 429, 60.0
#: So many files are sent as they are.
MOST_OPEN = 100


class Transport:
    """A connection with a token. `http` may be replaced, for example in tests."""

    def __init__(self, url: str, token: str, http: httpx.Client | None = None) -> None:
        timeout = httpx.Timeout(READ_SECONDS, connect=5.0)
        self._http = http or httpx.Client(base_url=url.rstrip("/"), timeout=timeout)
        self._http.headers["Authorization"] = f"Bearer {token}"

    def call(self, name: str, /, *, etag: str = "", **values: Any) -> Any:
        """Return the body of the operation's answer, None for an empty one.

        `values` are parts of its address, parameters and fields of its body, by name. Raises
        OccurrentError, ConnectionLost, TypeError for a value that it does not take.
        """
        response = self._send(OPERATIONS[name], values, etag)
        kind = response.headers.get("Content-Type", "").partition(";")[0]
        if not response.content:
            return None
        return response.json() if kind == "application/json" else response.content

    def call_with_etag(self, name: str, /, **values: Any) -> tuple[Any, str]:
        """Return the body and the ETag of what was read."""
        response = self._send(OPERATIONS[name], values, "")
        return response.json(), response.headers["ETag"]

    def list_all(self, name: str, /, **values: Any) -> Iterator[dict[str, Any]]:
        """Yield the results of a list, page after page."""
        asked: dict[str, Any] = {"limit": 500, **values}
        while True:
            page = self.call(name, **asked)
            yield from page["results"]
            if page["next"] is None or not page["results"]:
                return
            if "after" in OPERATIONS[name].query:
                asked["after"] = page["next"]
            else:
                asked["offset"] = asked.get("offset", 0) + len(page["results"])

    def send_files(self, name: str, files: Sequence[tuple[str, Path]], /, **values: Any) -> Any:
        """Send files, as (name, place), and return the body of the answer.

        Many files are sent as one zip, because a process may open only so many.
        """
        operation = OPERATIONS[name]
        path, query, _ = _split(operation, values)
        with TemporaryDirectory() as folder:
            packed = [pack_files(files, Path(folder))] if len(files) > MOST_OPEN else files
            names = json.dumps([name for name, _ in packed])

            def send(headers: dict[str, str]) -> httpx.Response:
                with ExitStack() as opened:
                    parts = [
                        ("files", (place.name, opened.enter_context(place.open("rb"))))
                        for _, place in packed
                    ]
                    return self._http.request(
                        operation.method,
                        path,
                        params=query,
                        data={"paths": names},
                        files=parts,
                        headers=headers,
                    )

            return self._try(operation, send).json()

    def save(self, name: str, target: Path, /, **values: Any) -> None:
        """Write the file that an operation returns."""
        operation = OPERATIONS[name]
        path, query, _ = _split(operation, values)
        with self._http.stream(operation.method, path, params=query) as response:
            if response.is_error:
                response.read()
                _check(response)
            with target.open("wb") as file:
                for chunk in response.iter_bytes():
                    file.write(chunk)

    def stream_lines(self, name: str, /, **values: Any) -> Iterator[str]:
        """Yield the lines of a file while they arrive."""
        operation = OPERATIONS[name]
        path, query, _ = _split(operation, values)
        with self._http.stream(operation.method, path, params=query) as response:
            if response.is_error:
                response.read()
                _check(response)
            yield from (line for line in response.iter_lines() if line)

    def _send(self, operation: Operation, values: dict[str, Any], etag: str) -> httpx.Response:
        path, query, body = _split(operation, values)
        sent = None if operation.method == "GET" else body

        def send(headers: dict[str, str]) -> httpx.Response:
            headers = {**headers, **({"If-Match": etag} if etag else {})}
            return self._http.request(
                operation.method, path, params=query, json=sent, headers=headers
            )

        return self._try(operation, send)

    def _try(
        self, operation: Operation, send: Callable[[dict[str, str]], httpx.Response]
    ) -> httpx.Response:
        """Send, again if the answer is lost and that does no harm.

        Also after the wait that the server asks for. Raises OccurrentError, ConnectionLost.
        """
        headers = {"Idempotency-Key": uuid.uuid4().hex} if operation.starts else {}
        attempts = ATTEMPTS if operation.method == "GET" or operation.starts else 1
        for attempt in range(attempts):
            if attempt:
                time.sleep(FIRST_WAIT * 2 ** (attempt - 1))
            try:
                response = send(headers)
            except httpx.TransportError as error:
                lost = error
                continue
            if response.status_code == TOO_MANY and attempt + 1 < attempts:
                time.sleep(min(float(response.headers.get("Retry-After", "1")), LONGEST_WAIT))
                continue
            _check(response)
            return response
        raise ConnectionLost(f"The server did not answer: {lost}") from lost


def pack_files(files: Sequence[tuple[str, Path]], folder: Path) -> tuple[str, Path]:
    """Write the files into one zip in the folder; return its name and place."""
    title = f"{files[0][0].partition('/')[0]}.zip"
    place = folder / title
    with ZipFile(place, "x", strict_timestamps=False) as archive:
        for name, path in files:
            archive.write(path, name)
    return title, place


def _split(
    operation: Operation, values: dict[str, Any]
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return the address, the parameters and the body that the values make."""
    inside = re.findall(r"{(\w+)}", operation.path)
    known = {*inside, *operation.query, *operation.body}
    if unknown := sorted(set(values) - known):
        raise TypeError(f"unknown: {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    if missing := [name for name in inside if name not in values]:
        raise TypeError(f"missing: {', '.join(missing)}")
    return (
        operation.path.format(**{name: values[name] for name in inside}),
        {name: values[name] for name in operation.query if values.get(name) is not None},
        {name: values[name] for name in operation.body if name in values},
    )


def _check(response: httpx.Response) -> None:
    if response.is_success:
        return
    try:
        body = response.json()
    except ValueError:
        body = {"detail": "The server returned no JSON. Is the address that of Occurrent?"}
    raise OccurrentError(response.status_code, body)
