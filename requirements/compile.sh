#!/usr/bin/env bash
# Compile the .in files into hash-locked .txt files: `make lock`, or with newer versions `make lock UPGRADE=--upgrade`.
# The files name no package index: whoever installs them uses their own. PyTorch is kept out (see docs/adr/0002-locked-requirements.md).
set -euo pipefail
cd "$(dirname "$0")"
for name in web models dev bench; do
    echo "torch ; sys_platform == 'never'" |
        uv pip compile "$name.in" --output-file "$name.txt" --quiet --universal --python-version 3.11 --generate-hashes \
            --no-emit-index-url --no-emit-find-links --no-header --overrides /dev/stdin "$@"
done
