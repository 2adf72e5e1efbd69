"""vLLM in the worker's own process, on small real weights.

Schemas are followed, concurrent requests share a batch, kinds of refusals are distinguished.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from config.env import BASE_DIR

SCRIPT = """
import asyncio, json, sys
from llm_runtime.base import Message, ModelRequest
from llm_runtime.providers.vllm_local import LocalVllm

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "enum": [1, 2, 3]}}, "required": ["n"], "additionalProperties": False}

EXTRA = {"temperature": 0.5, "top_p": 0.9, "chat_template_kwargs": {"enable_thinking": False}}

def request(text, **fields):
    return ModelRequest((Message("user", text),), 30, extra=EXTRA, **fields)

async def ask(model):
    wanted = [request(f"Choose a number, {i}.", schema=SCHEMA, seed=i) for i in range(4)]
    wanted += [request("word " * 5000), request("x", schema={"type": "arra"})]
    return await asyncio.gather(*(model.generate(r) for r in wanted), return_exceptions=True)

if __name__ == "__main__":
    engine = {"dtype": "float32", "enforce_eager": True, "max_num_seqs": 8}
    model = LocalVllm(model=sys.argv[1], context=2048, engine=engine, extra=EXTRA)
    answers = asyncio.run(ask(model))
    texts = [a.text if hasattr(a, "text") else type(a).__name__ for a in answers]
    counts = [[a.tokens_in, a.tokens_out] for a in answers[:4]]
    print("ANSWERS " + json.dumps({"texts": texts, "counts": counts}))
"""


def test_answers_follow_schemas_and_refusals_differ(
    vllm_environment: Path, small_model: Path, tmp_path: Path
) -> None:
    script = tmp_path / "ask.py"
    script.write_text(SCRIPT)
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "PYTHONPATH": str(BASE_DIR),
    }
    done = subprocess.run(
        [str(vllm_environment / "bin" / "python"), str(script), str(small_model)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=tmp_path,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("ANSWERS ")]
    assert lines, done.stderr[-2000:]
    found = json.loads(lines[-1].removeprefix("ANSWERS "))
    assert [json.loads(text)["n"] in (1, 2, 3) for text in found["texts"][:4]] == [True] * 4
    assert found["texts"][4:] == ["PromptTooLong", "SchemaRefused"]
    assert all(tokens_in > 0 and 0 < tokens_out <= 30 for tokens_in, tokens_out in found["counts"])
