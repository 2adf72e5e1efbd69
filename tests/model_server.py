"""An OpenAI-compatible server in this process, controlled by the test.

The test decides status, text, delay, and where a response breaks off.
"""

from __future__ import annotations

import json
import select
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, cast

from llm_runtime.base import Message, ModelRequest

#: What vLLM says of a prompt that is too long, and of a schema that it cannot compile.
TOO_LONG = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens in the messages."
GRAMMAR = "Grammar error: cannot compile the schema"


@dataclass(frozen=True)
class Answer:
    """One reply.

    `seconds` passes before it; `broken` sends half of the body and hangs up.
    """

    text: str = ""
    status: int = 200
    finish_reason: str = "stop"
    seconds: float = 0.0
    broken: bool = False
    message: str = ""
    reasoning: str = ""


class ModelServer:
    """A server that calls `answer` with the request and its number.

    Numbers begin at 1, and only chat requests are counted.
    """

    def __init__(
        self,
        answer: Callable[[ModelRequest, int], Answer | str],
        *,
        model: str = "fake",
        context: int = 32768,
    ) -> None:
        self.model, self.context = model, context
        self.answer = answer
        self.requests: list[ModelRequest] = []
        self.headers: list[Mapping[str, str]] = []
        self.aborted = 0
        self.at_once = 0
        self.most_at_once = 0
        self.lock = threading.Lock()
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        server.daemon_threads = True
        self._server = server
        self._thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def options(self, **more: Any) -> dict[str, Any]:
        """For MODEL_ROLES: a model of this server."""
        return {
            "provider": "openai",
            "base_url": self.url,
            "model": self.model,
            "backoff": 0.01,
            "connect": 2.0,
            "read": 20.0,
            **more,
        }


def _handler(owner: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            if self.path == "/v1/models":
                self._send(200, {"object": "list", "data": [_model(owner)]})
            elif self.path == "/metrics":
                self._send_text(
                    200,
                    'vllm:num_requests_running{model_name="fake"} 3.0\nvllm:num_requests_waiting{model_name="fake"} 2.0\n',
                )
            else:
                self._send(404, {"error": {"message": "no such address"}})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/tokenize":
                self._send(
                    200,
                    {
                        "count": sum(len(m["content"]) // 4 + 4 for m in body["messages"]),
                        "max_model_len": owner.context,
                    },
                )
                return
            request = _request(body)
            with owner.lock:
                owner.requests.append(request)
                owner.headers.append({name.lower(): value for name, value in self.headers.items()})
                number = len(owner.requests)
                owner.at_once += 1
                owner.most_at_once = max(owner.most_at_once, owner.at_once)
            try:
                answer = owner.answer(request, number)
                self._answer(Answer(answer) if isinstance(answer, str) else answer)
            finally:
                with owner.lock:
                    owner.at_once -= 1

        def _answer(self, answer: Answer) -> None:
            if answer.seconds and self._gone_within(answer.seconds):
                owner.aborted += 1
                self.close_connection = True
            elif answer.status != 200:
                self._send(
                    answer.status,
                    {"error": {"message": answer.message or "made up", "code": answer.status}},
                )
            else:
                self._send(200, _completion(owner, answer), broken=answer.broken)

        def _gone_within(self, seconds: float) -> bool:
            """Wait; True as soon as the client hangs up."""
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                readable, _, _ = select.select([self.connection], [], [], 0.05)
                if readable:
                    return True
            return False

        def _send(self, status: int, body: Any, *, broken: bool = False) -> None:
            self._send_text(status, json.dumps(body), "application/json", broken=broken)

        def _send_text(
            self, status: int, text: str, kind: str = "text/plain", *, broken: bool = False
        ) -> None:
            data = text.encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[: len(data) // 2] if broken else data)
            except OSError:
                owner.aborted += 1
            if broken:
                self.close_connection = True

    return Handler


def _request(body: Mapping[str, Any]) -> ModelRequest:
    schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
    messages = tuple(Message(cast(Any, m["role"]), m["content"]) for m in body["messages"])
    return ModelRequest(
        messages, body["max_tokens"], schema, body.get("temperature", 0.0), body.get("seed")
    )


def _model(owner: ModelServer) -> dict[str, Any]:
    return {
        "id": owner.model,
        "object": "model",
        "created": 0,
        "owned_by": "test",
        "max_model_len": owner.context,
    }


def _completion(owner: ModelServer, answer: Answer) -> dict[str, Any]:
    message = {
        "role": "assistant",
        "content": answer.text,
        **({"reasoning": answer.reasoning} if answer.reasoning else {}),
    }
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": owner.model,
        "choices": [{"index": 0, "finish_reason": answer.finish_reason, "message": message}],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 64},
        },
    }
