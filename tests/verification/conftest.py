"""The servers that the tests of this folder ask.

Their environment is built on first need; if that fails, the tests fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.verification.vllm_server import (
    GENERATE,
    NotInstalled,
    Server,
    environment,
    language_model,
)

#: Building the environment from nothing takes minutes, and so may a server's start on a busy
#: machine.
TIMEOUT = 1800
GROUP = "verification"
#: The file that `make test` runs.
EVERY_TIME = "test_vllm_answers.py"
_MISSING = pytest.StashKey[str]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder.

    All run in one of pytest-xdist's workers, with one server. `make test` asks a real server with
    one file; the others are deep.
    """
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.verification)
            item.add_marker(pytest.mark.timeout(TIMEOUT))
            item.add_marker(pytest.mark.xdist_group(GROUP))
            if item.path.name != EVERY_TIME:
                item.add_marker(pytest.mark.deep)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail if pytest-xdist ignores the group of these tests.

    A pytest-xdist that does not understand this pytest loses the group without a message, and two
    servers would run at once.
    """
    if item.config.option.__dict__.get("loadgroup") and not item.nodeid.endswith(f"@{GROUP}"):
        pytest.fail(
            "pytest-xdist no longer runs this folder on one worker; lock versions of both that fit each other"
        )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Report to the controller what a pytest-xdist worker could not verify."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["not_verified"] = session.config.stash.get(_MISSING, "")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Read the report of a worker."""
    if reason := getattr(node, "workeroutput", {}).get("not_verified", ""):
        node.config.stash[_MISSING] = reason


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print one line that cannot be overlooked if nothing was verified."""
    if reason := config.stash.get(_MISSING, ""):
        terminalreporter.write_line(
            f"NOT VERIFIED AGAINST A REAL SERVER: vLLM cannot be installed here: {reason}",
            red=True,
            bold=True,
        )


@pytest.fixture(scope="session")
def vllm_environment(pytestconfig: pytest.Config) -> Path:
    """The folder of vLLM's environment with the converted model."""
    try:
        return environment()
    except NotInstalled as error:
        pytestconfig.stash[_MISSING] = str(error)
        pytest.skip(f"vLLM cannot be installed here: {error}")


@pytest.fixture(scope="session")
def small_model(vllm_environment: Path) -> Path:
    """The folder of SmolLM2-135M-Instruct, in safetensors."""
    return language_model(vllm_environment)


@pytest.fixture(scope="package")
def server(
    vllm_environment: Path, small_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """SmolLM2 behind vLLM. A test that kills it starts it again."""
    log = tmp_path_factory.mktemp("vllm") / "server.log"
    found = Server(vllm_environment, small_model, "smol", GENERATE, log)
    try:
        found.start()
        yield found
    finally:
        found.stop()
