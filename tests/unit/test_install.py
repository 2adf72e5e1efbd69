"""The environment's builder.

The environment is outside the checkout, named by its contents, resumed after an interruption.
"""

import importlib.util
import subprocess
import sys
from types import ModuleType

import pytest

from config.env import BASE_DIR


@pytest.fixture
def install(tmp_path, monkeypatch) -> ModuleType:
    """Return the script as a module, with its own cache and locks."""
    spec = importlib.util.spec_from_file_location(
        "install", BASE_DIR / "requirements" / "install.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    locks = tmp_path / "requirements"
    locks.mkdir()
    for lock in (*module.LOCKS, module.BENCH_LOCK):
        (locks / lock).write_text("uv==1.2.3 \\\n    --hash=sha256:0\n")
    monkeypatch.setattr(module, "HERE", locks)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "argv", ["install.py"])
    monkeypatch.setattr(
        module.venv, "create", lambda folder, **options: folder.mkdir(exist_ok=True)
    )
    return module


@pytest.fixture
def commands(install, monkeypatch):
    """What would have been run."""
    made: list[list[str]] = []
    monkeypatch.setattr(install, "run", lambda command, **environment: made.append(command))
    return made


def test_the_folder_is_outside_the_checkout_and_named_by_the_locks(install, tmp_path):
    before = install.environment_folder()
    assert before.parent == tmp_path / "cache" / "occurrent"
    assert install.environment_folder() == before
    (install.HERE / "web.txt").write_text("changed")
    assert install.environment_folder() != before


def test_torch_comes_first_and_the_locks_follow_without_dependencies(install, commands):
    assert install.main() == 0
    first, second = commands
    assert first[-2:] == ["torch==2.13.0", "uv==1.2.3"]
    assert {"--no-deps", "--require-hashes"} <= set(second)
    assert [word for word in second if word.endswith(".txt")] == [
        str(install.HERE / lock) for lock in install.LOCKS
    ]


def test_a_finished_environment_is_left_alone(install, commands):
    install.main()
    commands.clear()
    install.main()
    assert commands == []


def test_an_interrupted_build_is_continued(install, monkeypatch):
    calls = []

    def interrupted(command, **environment):
        calls.append(command)
        if len(calls) == 2:
            raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(install, "run", interrupted)
    with pytest.raises(subprocess.CalledProcessError):
        install.main()
    assert install.main() == 0
    assert len(calls) == 4


def test_the_benchmarks_peers_are_added_once(install, commands, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["install.py", "--bench"])
    install.main()
    install.main()
    assert [command[-1] for command in commands[2:]] == [str(install.HERE / install.BENCH_LOCK)]


def test_an_old_python_is_named(install, monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 10, 0))
    assert install.main() == 1
    assert "3.11 or newer is needed: make setup PYTHON=" in capsys.readouterr().err
