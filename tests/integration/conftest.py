"""Compare every response of the API with its OpenAPI description."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from django.test import Client
from django.urls import resolve

from tests.integration.api_contract import check_answer


@pytest.fixture(autouse=True, scope="session")
def described_answers() -> Iterator[None]:
    """Fail a test in which the API gives an answer that is not described."""
    plain = Client.request

    def request(self: Client, **environ: Any) -> Any:
        response = plain(self, **environ)
        if (path := environ["PATH_INFO"]).startswith("/api/"):
            check_answer(environ["REQUEST_METHOD"], resolve(path).route, response)
        return response

    with mock.patch.object(Client, "request", request):
        yield
