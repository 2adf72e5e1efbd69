"""The library prov reads and merges audit trails."""

from __future__ import annotations

import json
import warnings

import pytest
from prov.model import ProvActivity, ProvAgent, ProvDocument, ProvEntity, ProvRelation

from tests.unit.timelines.pipeline.reconstruction import case, record, script, tools
from timelines.formats.prov.trail import TrailRun, make_trail
from timelines.pipeline.provenance import chains
from timelines.pipeline.run import reconstruct

RUN = TrailRun(
    run="r2",
    source="rules/full",
    case_id='ward 3/a:"b"',
    note_sha256="00ff",
    tools={"backbone": "rules 1", "reranker": "none"},
    code_revision="1a2b",
    calls={"revise": {"calls": 2, "tokens_in": None, "seconds": 0.5}},
)


def read(line: str) -> ProvDocument:
    """Return the document; a warning of the library is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return ProvDocument.deserialize(content=line, format="json")


@pytest.fixture
def lines() -> list[str]:
    result = reconstruct(case(), record(), tools(script()))
    return [make_trail(chain, RUN, with_note_text=True).dump() for chain in chains(result)]


def test_the_library_reads_every_record_and_writes_it_again(lines: list[str]) -> None:
    for line in lines:
        document = read(line)
        assert read(document.serialize(format="json")) == document
        listed = {kind: values for kind, values in json.loads(line).items() if kind != "prefix"}
        assert len(document.get_records()) == sum(map(len, listed.values()))
        assert document.get_provn()


def test_every_end_of_a_relation_is_in_its_document(lines: list[str]) -> None:
    for line in lines:
        document = read(line)
        named = {r.identifier for r in document.get_records((ProvEntity, ProvActivity, ProvAgent))}
        for relation in document.get_records(ProvRelation):
            assert {name for _, name in relation.formal_attributes[:2]} <= named


def test_the_trails_of_a_case_merge_into_one_document_with_one_note(lines: list[str]) -> None:
    whole = ProvDocument()
    for line in lines:
        whole.update(read(line))
    merged = whole.unified()
    names = [r.identifier.localpart for r in merged.get_records(ProvEntity)]
    assert len(set(names)) == len(names)
    assert names.count("note") == 1
    assert sum(name.endswith("/z0") for name in names) == len(lines)
    (agent,) = merged.get_records(ProvAgent)
    values = {key.localpart: value for key, value in agent.extra_attributes}
    assert values["backbone"] == "rules 1"


def test_numbers_and_text_are_those_of_the_reconstruction(lines: list[str]) -> None:
    document = read(lines[1])
    values = {
        r.identifier.localpart.partition("/")[2]: {k.localpart: v for k, v in r.extra_attributes}
        for r in document.get_records(ProvEntity)
    }
    assert values["span"]["text"] == "reversal agent"
    assert (values["z0"]["time"], values["z1"]["time"]) == (2.0, 6.5)
    assert "rerank_score" not in values["z0"]
