"""Vectors of series: stored once a model, ranked like a plain computation."""

import json
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from accounts.models import Study
from ehr.actions import import_dataset
from ehr.index import EncounterSearch, embed_encounter, missing_series, store_vectors
from ehr.models import Encounter, EventSeries, SeriesEmbedding
from ehr.tasks import embed_dataset, embed_series
from llm_runtime.providers.scripted import HashingEmbedder
from tests.worlds.ehr_cases import write_case

DIMENSION = 48


def unit(vectors) -> np.ndarray:
    vectors = np.asarray(vectors, np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def encounter(db, tmp_path) -> Encounter:
    """A case with 200 series, some with accents and capitals in their names."""
    names = [f"{word}:{i:03}:" for i in range(50) for word in ("lab", "Lab", "médic", "zz")]
    rows = "t,event,value\n" + "".join(
        f"2150-01-01T08:00:00,{name},{i}\n" for i, name in enumerate(names)
    )
    write_case(tmp_path, rows=rows)
    study = Study.objects.create(name="vectors")
    import_dataset(path=tmp_path, format="cases", name="cohort", study=study, by=None)
    return Encounter.objects.get()


def store(encounter: Encounter, vectors: np.ndarray, model: str = "m") -> list[str]:
    series = list(
        EventSeries.objects.filter(encounter=encounter).order_by("pk").values_list("pk", "event")
    )[: len(vectors)]
    store_vectors(encounter, model, [pk for pk, _ in series], vectors)
    return [event for _, event in series]


@pytest.mark.parametrize("seed", range(3))
def test_the_search_gives_the_ranking_of_a_plain_computation(encounter, seed):
    random = np.random.default_rng(seed)
    vectors = unit(random.normal(size=(200, DIMENSION)))
    vectors[150:] = vectors[:50]  # exact ties
    events = store(encounter, vectors)
    queries = unit(random.normal(size=(20, DIMENSION)))
    search = EncounterSearch(encounter.pk, "m")
    found = search.top_k(queries, 10)
    for query, hits in zip(queries, found, strict=True):
        cosines = vectors.astype(np.float64) @ query
        expected = sorted(
            zip(events, cosines, strict=True), key=lambda pair: (-round(pair[1], 5), pair[0])
        )[:10]
        assert [event for event, _ in hits] == [event for event, _ in expected]
        assert [c for _, c in hits] == pytest.approx([c for _, c in expected], abs=1e-6)


def test_vectors_come_back_as_they_were(encounter):
    vectors = unit(np.random.default_rng(1).normal(size=(200, DIMENSION)))
    events = store(encounter, vectors)
    names, fetched = EncounterSearch(encounter.pk, "m").fetch()
    assert names == sorted(events)
    np.testing.assert_array_equal(fetched, vectors[np.argsort(np.array(events, object))])
    assert fetched.dtype == np.float32


def test_models_and_encounters_are_apart(encounter):
    store(encounter, unit(np.eye(4, DIMENSION)), "a")
    store(encounter, unit(np.eye(2, 8)), "b")
    assert len(EncounterSearch(encounter.pk, "a").top_k(unit(np.ones((1, DIMENSION))), 10)[0]) == 4
    assert len(EncounterSearch(encounter.pk, "b").top_k(unit(np.ones((1, 8))), 10)[0]) == 2
    assert EncounterSearch(encounter.pk, "c").top_k(unit(np.ones((3, 8))), 10) == [[], [], []]
    assert EncounterSearch(encounter.pk + 1, "a").top_k(unit(np.ones((1, 8))), 10) == [[]]
    assert EncounterSearch(encounter.pk, "a").top_k(np.zeros((0, DIMENSION), np.float32), 10) == []
    with pytest.raises(ValueError, match="dimension 8"):
        EncounterSearch(encounter.pk, "a").top_k(unit(np.ones((1, 8))), 10)


def test_embedding_twice_stores_once(encounter):
    embedder = HashingEmbedder()
    assert embed_encounter(encounter, embedder) == 200
    before = list(SeriesEmbedding.objects.order_by("pk").values_list("pk", flat=True))
    assert embed_encounter(encounter, embedder) == 0
    assert list(SeriesEmbedding.objects.order_by("pk").values_list("pk", flat=True)) == before
    assert missing_series(encounter, embedder.name) == []
    assert len(missing_series(encounter, "another model")) == 200


def test_a_second_writer_adds_only_what_is_missing(encounter):
    store(encounter, unit(np.eye(3, DIMENSION)))
    series = list(EventSeries.objects.order_by("pk").values_list("pk", flat=True))[:5]
    assert store_vectors(encounter, "m", series, unit(np.eye(5, DIMENSION))) == 2
    assert SeriesEmbedding.objects.count() == 5


def test_the_task_embeds_and_does_not_mind_a_missing_encounter(encounter, monkeypatch):
    monkeypatch.setattr("ehr.tasks.embedder", HashingEmbedder)
    embed_series(encounter.pk)
    embed_series(10**9)
    assert SeriesEmbedding.objects.count() == 200


def test_workers_are_asked_on_their_queues(encounter, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "ehr.tasks.embed_dataset.apply_async", lambda args, queue: asked.append((queue, args))
    )
    call_command(
        "import_dataset", format="cases", path=tmp_path, name="cohort", study="vectors", embed=True
    )
    monkeypatch.setattr(
        "ehr.tasks.embed_series.apply_async", lambda args, queue: asked.append((queue, args))
    )
    embed_dataset(encounter.dataset_id)
    assert asked == [("ingest", (encounter.dataset_id,)), ("embed", (encounter.pk,))]


def test_the_row_map_is_exported(encounter, tmp_path):
    call_command("export_summaries", dataset="cohort", study="vectors", out=tmp_path / "out")
    mapping = json.loads(
        Path(tmp_path / "out" / "c1" / "summary_mapping.json").read_text(encoding="utf-8")
    )
    assert len(mapping) == 200
    first = next(entry for entry in mapping if entry["event"] == "médic:000:")
    assert first["row_indices"] == [2]
    assert first["summary"].startswith("médic:000:\ncount 1")
    with pytest.raises(CommandError, match="no dataset"):
        call_command("export_summaries", dataset="other", study="vectors", out=tmp_path)


@pytest.mark.parametrize("case_id", ["../../escape", "/etc", "a/b", "..", ".", "CON\n"])
def test_a_case_id_is_never_a_path(db, tmp_path, case_id):
    write_case(tmp_path / "in", case_id=case_id.strip())
    study = Study.objects.create(name="vectors")
    import_dataset(path=tmp_path / "in", format="cases", name="cohort", study=study, by=None)
    call_command("export_summaries", dataset="cohort", study="vectors", out=tmp_path / "out")
    written = [path.resolve() for path in tmp_path.rglob("summary_mapping.json")]
    assert [path.parent.parent for path in written] == [(tmp_path / "out").resolve()]


def test_an_import_of_a_stay_computes_only_summaries_that_the_earlier_one_lacks(
    encounter, tmp_path
):
    """Vectors of another study or of a changed series are not copied."""
    rows = "t,event,value\n2150-01-01T08:00:00,lab:000:,0\n2150-01-01T08:00:00,lab:001:,77\n"
    write_case(tmp_path, rows=rows)
    study = encounter.dataset.study
    for name, of in (("again", study), ("elsewhere", Study.objects.create(name="other"))):
        import_dataset(path=tmp_path, format="cases", name=name, study=of, by=None)
    embedder = RecordingEmbedder(DIMENSION)
    assert embed_encounter(encounter, embedder) == 200
    again, elsewhere = Encounter.objects.exclude(pk=encounter.pk).order_by("dataset__name")
    embedder.texts.clear()
    assert embed_encounter(again, embedder) == 1
    (computed,) = embedder.texts
    assert "77" in computed
    first, _ = EncounterSearch(encounter.pk, embedder.name).fetch()
    names, vectors = EncounterSearch(again.pk, embedder.name).fetch()
    assert names == ["lab:000:", "lab:001:"]
    expected = EncounterSearch(encounter.pk, embedder.name).fetch()[1][first.index("lab:000:")]
    np.testing.assert_array_equal(vectors[0], expected)
    assert embed_encounter(elsewhere, embedder) == 2


class RecordingEmbedder(HashingEmbedder):
    """Notes the documents that it is asked for."""

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension=dimension)
        self.texts: list[str] = []

    async def embed_documents(self, texts, *, batch_size=None):
        self.texts.extend(texts)
        return await super().embed_documents(texts, batch_size=batch_size)
