"""The Python client against a made-up server."""

from __future__ import annotations

import io
import json
from typing import Any
from zipfile import ZipFile

import httpx
import pytest
from drf_spectacular.generators import SchemaGenerator
from occurrent_client import ConnectionLost, Occurrent, OccurrentError, RunEnded, TookTooLong
from occurrent_client import transport as sending
from occurrent_client.frames import make_frame
from occurrent_client.generate import TARGET, write_operations

RUN = {
    "id": "r" * 12,
    "state": "running",
    "state_words": "Running",
    "percent": 40,
    "active": True,
    "time_left": "about 2 minutes left",
    "warning": "",
}
DATASETS = {"results": [{"id": "d" * 12, "name": "demo"}], "next": None}


class Server:
    """Answers requests in turn; an exception is a lost connection."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.requests = list(answers), list[httpx.Request]()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        headers = {"ETag": '"abc"', "Retry-After": "7", "Location": "http://elsewhere/"}
        return httpx.Response(status, json=body, headers=headers)

    def connect(self) -> Occurrent:
        http = httpx.Client(base_url="http://server", transport=httpx.MockTransport(self))
        return Occurrent("http://server", "secret", http)


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "FIRST_WAIT", 0.0)


def test_its_operations_are_those_of_the_description():
    schema = json.loads(json.dumps(SchemaGenerator().get_schema(request=None, public=True)))
    assert TARGET.read_text() == write_operations(schema), (
        "run: python manage.py spectacular --format openapi-json | python client/occurrent_client/generate.py"
    )


def test_a_run_is_launched_by_the_name_of_its_dataset():
    server = Server(DATASETS, (201, RUN))
    run = server.connect().runs.launch(dataset="demo", label="nightly")
    assert (run.id, run.state) == (RUN["id"], "running")
    sent = server.requests[1]
    assert (sent.method, sent.url.path) == ("POST", "/api/runs/")
    assert json.loads(sent.content) == {
        "dataset": "d" * 12,
        "backbone": "rules",
        "label": "nightly",
    }
    assert sent.headers["Authorization"] == "Bearer secret"


def test_a_lost_start_is_sent_again_with_the_same_key():
    lost = httpx.ConnectError("away")
    server = Server(DATASETS, lost, httpx.ReadTimeout("slow"), (201, RUN))
    server.connect().runs.launch(dataset="demo")
    keys = [request.headers["Idempotency-Key"] for request in server.requests[1:]]
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_it_gives_up_after_four_attempts_and_never_repeats_an_action():
    lost = httpx.ConnectError("away")
    server = Server(*[lost] * 4)
    with pytest.raises(ConnectionLost, match="away"):
        server.connect().runs.get("r" * 12)
    assert len(server.requests) == 4
    server = Server(RUN, lost)
    run = server.connect().runs.get("r" * 12)
    with pytest.raises(ConnectionLost):
        run.act("pause")
    assert len(server.requests) == 2


def test_it_waits_as_long_as_the_server_asks(monkeypatch):
    waits: list[float] = []
    monkeypatch.setattr(sending.time, "sleep", lambda seconds: waits.append(seconds))
    server = Server((429, {"code": "throttled", "detail": "Too many."}), DATASETS)
    assert server.connect().call("dataset_list") == DATASETS
    assert waits[0] == 7
    server = Server(*[(429, {"code": "throttled", "detail": "Too many."})] * 4)
    with pytest.raises(OccurrentError) as refused:
        server.connect().call("dataset_list")
    assert refused.value.code == "throttled"


def test_the_token_goes_to_no_other_host_and_into_no_message():
    server = Server((302, {}))
    client = server.connect()
    with pytest.raises(OccurrentError) as refused:
        client.call("dataset_list")
    assert [request.url.host for request in server.requests] == ["server"]
    assert server.requests[0].headers["Authorization"] == "Bearer secret"
    assert "secret" not in f"{client!r}{client._transport!r}{refused.value!r}{vars(refused.value)}"
    # Without a replaced connection, too.
    assert not Occurrent("http://server", "secret")._transport._http.follow_redirects


def test_a_refusal_says_what_is_wrong_with_which_field():
    body = {"code": "invalid", "detail": "Some fields are invalid.", "fields": {"cases": ["No."]}}
    with pytest.raises(OccurrentError, match=r"Some fields.* cases: No\.") as caught:
        Server(DATASETS, (400, body)).connect().runs.launch("demo")
    assert (caught.value.status, caught.value.code) == (400, "invalid")
    page = httpx.MockTransport(lambda request: httpx.Response(502, text="<html>"))
    other = Occurrent("http://server", "secret", httpx.Client(base_url="http://x", transport=page))
    with pytest.raises(OccurrentError, match="no JSON"):
        other.datasets.all()


def test_wait_ends_with_the_run():
    said: list[str] = []
    done = {**RUN, "state": "done", "state_words": "Done", "percent": 100, "active": False}
    run = Server(RUN, RUN, RUN, done).connect().runs.get("r" * 12)
    assert run.wait(poll=0, say=said.append).state == "done"
    assert said == ["Running, 40 %, about 2 minutes left", "Done, 100 %, about 2 minutes left"]
    failed = {**done, "state": "failed", "state_words": "Failed"}
    run = Server(RUN, failed).connect().runs.get("r" * 12)
    with pytest.raises(RunEnded, match="Failed"):
        run.wait(poll=0, say=said.append)
    run = Server(RUN, RUN).connect().runs.get("r" * 12)
    with pytest.raises(TookTooLong, match="not finished"):
        run.wait(timeout=-1, poll=0, say=said.append)


def test_a_label_is_changed_with_the_etag_that_was_read():
    server = Server(RUN, RUN, {**RUN, "label": "new"})
    server.connect().runs.get("r" * 12).rename("new")
    assert server.requests[2].headers["If-Match"] == '"abc"'
    assert json.loads(server.requests[2].content) == {"label": "new"}


def test_lists_are_read_to_their_end():
    pages = [{"results": [{"row": 1}], "next": "1"}, {"results": [{"row": 2}], "next": None}]
    server = Server(*pages)
    assert [row["row"] for row in server.connect().all("row_list", case_id="c" * 12)] == [1, 2]
    assert server.requests[1].url.params["after"] == "1"
    counted = [{"results": [{"id": "a"}], "next": "http://server/?offset=1"}, DATASETS]
    server = Server(*counted)
    assert len(server.connect().datasets.all()) == 2
    assert server.requests[1].url.params["offset"] == "1"


def test_unknown_and_missing_values_are_named():
    oc = Server().connect()
    with pytest.raises(TypeError, match="unknown: speed"):
        oc.call("run_list", speed=9)
    with pytest.raises(TypeError, match="missing: run_id"):
        oc.call("run")
    with pytest.raises(LookupError, match=r"No datasets are named nothing\..* demo"):
        Server(DATASETS).connect().runs.launch("nothing")
    with pytest.raises(ValueError, match="TOKEN"):
        Occurrent("http://server")


def test_rows_become_a_table():
    frame = make_frame([{"time": 1.5, "rows": [3]}, {"time": None, "rows": []}])
    assert list(frame.columns) == ["time", "rows"]
    assert frame.time.notna().sum() == 1


def test_many_files_are_sent_as_one_zip(tmp_path, monkeypatch):
    monkeypatch.setattr(sending, "MOST_OPEN", 2)
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in ("a", "b", "c"):
        (notes / f"{name}.txt").write_text(f"Note {name}.")
    server = Server((201, {"id": "i" * 12, "job": None, "recognised": ""}))
    server.connect().imports.upload(notes)
    sent = server.requests[0].content
    assert b'["notes.zip"]' in sent
    packed = sent[sent.index(b"PK\x03\x04") :]
    with ZipFile(io.BytesIO(packed[: packed.rindex(b"\r\n--")])) as archive:
        assert archive.namelist() == ["notes/a.txt", "notes/b.txt", "notes/c.txt"]
        assert archive.read("notes/b.txt") == b"Note b."


def test_a_link_in_a_folder_is_sent_under_its_own_name(tmp_path):
    (tmp_path / "stored.txt").write_text("Elsewhere.")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "1.txt").symlink_to(tmp_path / "stored.txt")
    server = Server((201, {"id": "i" * 12, "job": None, "recognised": ""}))
    server.connect().imports.upload(notes)
    assert b'["notes/1.txt"]' in server.requests[0].content
    assert b"Elsewhere." in server.requests[0].content
