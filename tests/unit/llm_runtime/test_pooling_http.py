"""The HTTP embedder and reranker against a server in this process.

Order, batches, forms and failures are covered.
"""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from llm_runtime.base import Embedder, ProviderError, Reranker
from llm_runtime.calls.blocking import run_blocking
from llm_runtime.calls.calling import gather_results
from llm_runtime.errors import RequestRefused, Unavailable
from llm_runtime.providers.pooling_http import HTTPEmbedder, HTTPReranker
from llm_runtime.roles import ModelRoles


class Pooling:
    """Returns vectors (length of the text, 1) and scores 1/length.

    Both are in reverse order. `statuses` come first.
    """

    def __init__(self):
        self.asked: list[tuple[str, dict]] = []
        self.statuses: list[int] = []
        self.shorten = False
        self.seconds = 0.0
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format, *args):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                owner.asked.append((self.path, body))
                owner.work()
                status = owner.statuses.pop(0) if owner.statuses else 200
                answer = json.dumps(owner.answer(self.path, body)).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        self.thread = threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    def work(self):
        with self.lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        time.sleep(self.seconds)
        with self.lock:
            self.at_once -= 1

    def answer(self, path, body):
        if path == "/v1/embeddings":
            data = [
                {"index": n, "embedding": [float(len(text)), 1.0]}
                for n, text in enumerate(body["input"])
            ][::-1]
            return {"data": data[:-1] if self.shorten else data}
        results = [
            {"index": n, "relevance_score": 1 / len(text)}
            for n, text in enumerate(body["documents"])
        ][::-1]
        return {"results": results[:-1] if self.shorten else results}

    def embedder(self, **more):
        return HTTPEmbedder(base_url=self.url, model="org/small", backoff=0.01, **more)

    def reranker(self, **more):
        return HTTPReranker(
            base_url=self.url, model="org/small", threshold=0.1, backoff=0.01, **more
        )


@pytest.fixture
def server():
    found = Pooling()
    found.thread.start()
    yield found
    found.server.shutdown()
    found.server.server_close()


def test_vectors_come_in_the_order_of_the_texts_and_have_length_one(server):
    vectors = run_blocking(server.embedder().embed_documents(["aaa", "a", "aa"], batch_size=2))
    expected = np.array([[3, 1], [1, 1], [2, 1]], dtype=np.float32)
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True))
    assert sorted(body["input"] for _, body in server.asked) == [["aa"], ["aaa", "a"]]
    assert "truncate_prompt_tokens" not in server.asked[0][1]


def test_the_dimension_is_asked_once_and_nothing_makes_no_vectors(server):
    embedder = server.embedder()
    assert run_blocking(embedder.embed_queries([])).shape == (0, 2)
    assert (run_blocking(embedder.dimension()), embedder.name) == (2, "small")
    assert len(server.asked) == 1


def test_queries_are_instructed_and_documents_are_not(server):
    embedder = server.embedder(task="find rows", max_tokens=8192)
    run_blocking(embedder.embed_queries(["lactate"]))
    run_blocking(embedder.embed_documents(["lactate"]))
    assert [body["input"] for _, body in server.asked] == [
        ["Instruct: find rows\nQuery:lactate"],
        ["lactate"],
    ]
    assert {body["truncate_prompt_tokens"] for _, body in server.asked} == {8192}


def test_scores_come_in_the_order_of_the_documents(server):
    assert run_blocking(server.reranker().rerank("q", ["aaaa", "a", "aa"], batch_size=2)) == [
        0.25,
        1.0,
        0.5,
    ]
    assert sorted((path, body["query"], body["documents"]) for path, body in server.asked) == [
        ("/v1/rerank", "q", ["aa"]),
        ("/v1/rerank", "q", ["aaaa", "a"]),
    ]
    assert run_blocking(server.reranker().rerank("q", [])) == []


def test_a_task_gives_the_form_that_the_reranker_was_trained_on(server):
    run_blocking(server.reranker(task="find {rows}").rerank("q", ["d"]))
    ((_, body),) = server.asked
    assert body["query"].endswith("<|im_start|>user\n<Instruct>: find {rows}\n<Query>: q\n")
    assert body["query"].startswith("<|im_start|>system\nJudge whether the Document")
    assert body["documents"] == [
        "<Document>: d<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    ]


def test_a_busy_server_is_asked_again_and_a_refusal_is_not(server):
    server.statuses = [503, 429]
    assert len(run_blocking(server.embedder().embed_documents(["a"]))) == 1
    assert len(server.asked) == 3
    server.statuses = [500, 500, 500]
    with pytest.raises(Unavailable, match="500"):
        run_blocking(server.reranker().rerank("secret", ["secret"]))
    asked = len(server.asked)
    server.statuses = [400]
    with pytest.raises(RequestRefused) as caught:
        run_blocking(server.embedder().embed_documents(["secret"]))
    assert len(server.asked) == asked + 1
    assert "secret" not in str(caught.value)


def test_batches_go_out_at_once_up_to_the_limit_that_both_share_with_language_models(server):
    """Twelve batches and twelve queries share an endpoint of three slots.

    Each takes 0.1 s.
    """
    server.seconds = 0.1
    served = {"base_url": server.url, "model": "m", "concurrency": 3}
    spec = {
        "embedder": {"provider": "openai_embeddings", **served},
        "reranker": {"provider": "openai_rerank", **served, "threshold": 0.0},
    }
    roles = ModelRoles(spec)
    embedder, reranker = roles.embedder(), roles.reranker()

    async def both():
        return await gather_results(
            [
                embedder.embed_documents(["a" * n for n in range(1, 13)], batch_size=1),
                *(reranker.rerank("q", ["a"]) for _ in range(12)),
            ]
        )

    vectors, *scores = run_blocking(both())
    assert vectors.shape == (12, 2)
    assert scores == [[1.0]] * 12
    assert (server.most_at_once, len(server.asked)) == (3, 24)


def test_looking_at_an_embedder_asks_nothing_of_its_server(server):
    embedder = server.embedder()
    assert isinstance(embedder, Embedder)
    assert [getattr(embedder, name) for name in dir(embedder)]
    assert server.asked == []


def test_each_event_loop_has_connections_of_its_own_and_leaves_none(server):
    embedder = server.embedder()
    for _ in range(2):
        run_blocking(embedder.embed_documents(["a", "b"], batch_size=1))
    assert embedder._open == {}


def test_an_answer_for_fewer_texts_is_none(server):
    server.shorten = True
    with pytest.raises(Unavailable, match="1 vectors for 2 texts"):
        run_blocking(server.embedder().embed_documents(["a", "b"]))
    with pytest.raises(Unavailable, match="1 of 2 documents"):
        run_blocking(server.reranker().rerank("q", ["a", "b"]))


def test_nobody_there_is_an_outage_and_no_address_is_an_error():
    embedder = HTTPEmbedder(base_url="http://127.0.0.1:9/v1", model="m", backoff=0.01)
    with pytest.raises(Unavailable, match="could not be reached"):
        run_blocking(embedder.embed_documents(["a"]))
    with pytest.raises(ProviderError, match="base_url"):
        HTTPEmbedder(base_url="localhost", model="m")


def test_both_are_known_to_the_roles(server):
    served = {"base_url": server.url, "model": "m"}
    roles = ModelRoles(
        {
            "embedder": {"provider": "openai_embeddings", **served},
            "reranker": {"provider": "openai_rerank", **served, "threshold": 0.05},
        }
    )
    assert isinstance(roles.embedder(), Embedder)
    assert isinstance(roles.reranker(), Reranker)
    assert roles.reranker().threshold == 0.05
