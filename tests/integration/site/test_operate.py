"""Every command of docs/operate.md, in the page's order.

They run as one installation: real PostgreSQL and Valkey servers over TCP, the shipped units with
their own environments, and a folder in place of / (`tests/support/installation.py`).
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest
from django.core.management import get_commands
from django.urls import is_valid_path

from tests.paths import ROOT
from tests.support.external_servers import external_servers
from tests.support.installation import Installation

PAGE = ROOT / "docs" / "operate.md"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Blocks that only look right here, by their first command, with the reason.
CHECKED = {
    "apt-get update": "installs the distribution's packages, as root",
    "cd /opt/occurrent/app\npython3 -m venv": "installs 3 GB; it is how this environment was made",
    "systemctl start occurrent-backup\ncd": "installs packages; its other commands run in blocks above",
}
FILE = re.compile(r"/opt/occurrent/app/(docker/[\w.-]+(?:/[\w.-]+)?)")
SERVICE = re.compile(r"systemctl start (occurrent-\w+)")
PROBE = re.compile(r"127\.0\.0\.1:8000(/\w+)(?=\s|$)")


def read_blocks() -> list[str]:
    """Return the commands of the page, a block for each fence of `sh`."""
    return [block for language, block in FENCE.findall(PAGE.read_text("utf-8")) if language == "sh"]


def is_checked(block: str) -> bool:
    return any(block.startswith(first) for first in CHECKED)


def find_commands(block: str) -> set[str]:
    """Return the commands of manage.py that a block runs, itself or by a unit."""
    units = [ROOT / f"docker/systemd/{name}.service" for name in SERVICE.findall(block)]
    text = "\n".join([block, *(unit.read_text("utf-8") for unit in units)])
    return set(re.findall(r"(?:^occurrent|manage\.py) ([a-z_]+)", text, re.MULTILINE))


def find_missing(block: str) -> set[str]:
    """Return the commands, addresses and files of a block that do not exist."""
    addresses = {path for path in PROBE.findall(block) if not is_valid_path(path)}
    files = {name for name in FILE.findall(block) if not (ROOT / name).exists()}
    return addresses | files | (find_commands(block) - set(get_commands()))


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("operate")
    with external_servers(folder) as servers:
        made = Installation.prepare(folder / "machine", servers)
        yield made
        made.kill()


@pytest.mark.deep
@pytest.mark.timeout(1800)
def test_the_page_leads_from_a_bare_machine_to_a_running_installation(installation):
    """One test: each block needs what the blocks before it made."""
    variables, *blocks = read_blocks()
    for block in blocks:
        if is_checked(block):
            continue
        ended = installation.run(variables, block)
        assert ended.returncode == 0, f"{block}\n{ended.stdout[-3000:]}\n{ended.stderr[-3000:]}"
        if "git clone" in block:
            installation.translate_deployment()


@pytest.mark.parametrize("block", read_blocks(), ids=lambda block: block.splitlines()[0][:60])
def test_a_block_is_correct_bash(block: str) -> None:
    checked = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_every_exception_is_a_block_of_the_page() -> None:
    blocks = read_blocks()
    assert [first for first in CHECKED if not any(b.startswith(first) for b in blocks)] == []


def test_every_command_address_and_file_exists() -> None:
    named = set().union(*map(find_commands, read_blocks()))
    assert named > {"migrate", "create_account", "import_dataset", "reconstruct", "verify_chain"}
    assert set().union(*map(find_missing, read_blocks())) == set()


def test_the_libraries_are_installed_as_in_the_images() -> None:
    """The page and the images install the same locks and the same PyTorch."""
    blocks = [block for block in read_blocks() if "pip install" in block]
    image = (ROOT / "docker" / "gpu-worker.Dockerfile").read_text("utf-8")
    assert len(blocks) == 2  # the installation, and an upgrade
    for text in (*blocks, image.split("RUN pip")[-1]):
        assert "--no-deps --require-hashes" in text
        files = re.findall(r"requirements/\w+\.txt", text)
        assert files == ["requirements/web.txt", "requirements/models.txt"]
    for text in (blocks[0], image):
        assert re.findall(r"torch==[\d.]+", text) == ["torch==2.13.0"]
    assert 'TORCH = "torch==2.13.0"' in (ROOT / "requirements" / "install.py").read_text("utf-8")


def test_every_figure_that_scales_workers_is_exported() -> None:
    """The page and the chart name figures of /metrics."""
    chart = (ROOT / "docker/helm/occurrent/templates/autoscaling.yaml").read_text("utf-8")
    named = set(re.findall(r"occurrent_[a-z_]+(?=\{|`)", PAGE.read_text("utf-8") + chart))
    sources = [file.read_text("utf-8") for file in ROOT.glob("config/metrics/*.py")]
    exported = set(re.findall(r'"(occurrent_[a-z_]+)"', "".join(sources)))
    assert named >= {"occurrent_queue_jobs", "occurrent_workers"}
    assert named - exported == set()
