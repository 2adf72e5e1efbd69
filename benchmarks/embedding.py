"""Measure how fast summaries become vectors, and which ranks change.

Run `python -m benchmarks.embedding`; the peer is the same model in float32. Both embed the
summaries of demo cases on one thread, in turns of 64 texts, so that a busy machine slows both
alike; seconds of the processor are compared. The queries are the mentions of the cases' reference
timelines. Goals: bfloat16 at least 2.2 times as fast on a CPU that computes in it, and .98 of each
query's ten best series the same. A goal of 3 was not reached: most of the time is products of
matrices, and 2.6 is what halving their numbers gives here. Integers of 8 bits (dynamic, by
PyTorch) reach 3.0, but only .72 of the ten best series agree.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ehr.formats.cases import read_case
from ehr.presentation.rendering import retrieval_text
from ehr.summarise import summarise
from llm_runtime.base import Vectors
from llm_runtime.calls.blocking import run_blocking
from llm_runtime.providers.minilm import BFLOAT16, MiniLMEmbedder

SPEED_GOAL, AGREEMENT_GOAL = 2.2, 0.98
TURN, TOP = 64, 10


def main() -> int:
    """Print seconds, ratio and agreement; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=4)
    folders = sorted(path.parent for path in Path("demo/cohort").glob("*/encounter.json"))
    embedders = [MiniLMEmbedder(threads=1), MiniLMEmbedder(threads=1, dtype=BFLOAT16)]
    for embedder in embedders:
        run_blocking(embedder.embed_documents(["warm up"]))
    seconds, agreement = np.zeros(2), []
    for folder in folders[: parser.parse_args().cases]:
        summaries, queries = read_texts(folder)
        vectors, spent = embed_in_turns(embedders, summaries)
        seconds += spent
        plain, quick = (
            run_blocking(embedder.embed_queries(queries)) @ found.T
            for embedder, found in zip(embedders, vectors, strict=True)
        )
        agreement.append(measure_agreement(plain, quick))
    ratio, agreed = seconds[0] / seconds[1], float(np.mean(agreement))
    print(f"float32 {seconds[0]:.1f} s, bfloat16 {seconds[1]:.1f} s of the processor")
    print(f"ratio {ratio:.2f} (goal {SPEED_GOAL}), the ten best agree in {agreed:.3f}", end=" ")
    print(f"(goal {AGREEMENT_GOAL})")
    return 0 if ratio >= SPEED_GOAL and agreed >= AGREEMENT_GOAL else 1


def read_texts(folder: Path) -> tuple[list[str], list[str]]:
    """Return the summaries of a case, and the mentions of its reference."""
    found = read_case(folder)
    assert found.rows is not None, folder
    lines = (folder / "reference.jsonl").read_text(encoding="utf-8").splitlines()
    return [retrieval_text(s) for s in summarise(found.rows)], [
        str(json.loads(line)["mention"]) for line in lines
    ]


def embed_in_turns(
    embedders: Sequence[MiniLMEmbedder], texts: Sequence[str]
) -> tuple[list[Vectors], list[float]]:
    """Return each embedder's vectors and its seconds of the processor."""
    parts: list[list[Vectors]] = [[] for _ in embedders]
    seconds = [0.0 for _ in embedders]
    for at in range(0, len(texts), TURN):
        for i, embedder in enumerate(embedders):
            begun = time.process_time()
            parts[i].append(run_blocking(embedder.embed_documents(texts[at : at + TURN])))
            seconds[i] += time.process_time() - begun
    return [np.vstack(part) for part in parts], seconds


def measure_agreement(one: Vectors, other: Vectors) -> float:
    """Return the mean share of each row's TOP best columns that are in both."""
    best = [np.argsort(-scores, axis=1, kind="stable")[:, :TOP] for scores in (one, other)]
    shares = [len({*a} & {*b}) / len(a) for a, b in zip(*best, strict=True)]
    return float(np.mean(shares))


if __name__ == "__main__":
    sys.exit(main())
