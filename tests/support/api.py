"""A client of the API with a token, as a program has one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.test import Client

from accounts.api_access.tokens import issue_token
from accounts.models import User


class ApiClient:
    """Asks `/api/…` in somebody's name. Each call gives (status, body)."""

    def __init__(self, person: User) -> None:
        _, secret = issue_token(user=person, label="test", by=None)
        self.headers = {"Authorization": f"Bearer {secret}"}
        self.client = Client()

    def get(self, path: str, **query: Any) -> tuple[int, Any]:
        return self._told(self.client.get(f"/api/{path}", query, headers=self.headers))

    def post(self, path: str, **body: Any) -> tuple[int, Any]:
        return self.send("post", path, json.dumps(body))

    def put(self, path: str, **body: Any) -> tuple[int, Any]:
        return self.send("put", path, json.dumps(body))

    def delete(self, path: str) -> tuple[int, Any]:
        return self._told(self.client.delete(f"/api/{path}", headers=self.headers))

    def send(
        self, method: str, path: str, body: str | bytes, headers: Mapping[str, str] = {}
    ) -> tuple[int, Any]:
        return self._told(self.ask(method, path, body, headers))

    def ask(
        self, method: str, path: str, body: str | bytes = b"", headers: Mapping[str, str] = {}
    ) -> Any:
        """Return the whole response, for tests of its headers."""
        how = {"data": body, "content_type": "application/json"} if method != "get" else {}
        ask = getattr(self.client, method)
        return ask(f"/api/{path}", headers={**self.headers, **headers}, **how)

    def edit(self, method: str, path: str, at: str, **body: Any) -> tuple[int, Any]:
        """Send an edit with the ETag of the object at `at`."""
        etag = self.ask("get", at)["ETag"]
        return self.send(method, path, json.dumps(body), {"If-Match": etag})

    @staticmethod
    def _told(response: Any) -> tuple[int, Any]:
        content, kind = (
            response.getvalue(),
            response.headers.get("Content-Type", "").partition(";")[0],
        )
        return response.status_code, json.loads(
            content
        ) if content and kind == "application/json" else content.decode()
