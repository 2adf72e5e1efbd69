"""`.env.example` explains exactly the variables that the code reads."""

import re

from config.env import BASE_DIR

READS = re.compile(
    r"""env\.(?:text|boolean|integer|url|secret|words|mapping|choice|path)\(\s*["']([A-Z_]+)["']"""
)
MENTIONS = re.compile(r"^#?([A-Z_]+)=", re.MULTILINE)


def test_every_variable_is_explained():
    read = {
        name
        for path in (BASE_DIR / "config").rglob("*.py")
        for name in READS.findall(path.read_text(encoding="utf-8"))
    }
    mentioned = {
        name.removesuffix("_FILE")
        for name in MENTIONS.findall((BASE_DIR / ".env.example").read_text(encoding="utf-8"))
    }
    assert read | {"OCCURRENT_VAR"} == mentioned


def test_the_example_sets_nothing():
    lines = (BASE_DIR / ".env.example").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == []
