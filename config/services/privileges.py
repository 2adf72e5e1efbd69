"""Run the servers as an unprivileged user if the caller is root.

Their directories and binaries are put where that user can reach them.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

from config.services.errors import ServiceError
from config.services.paths import ROOT_STATE, ServicePaths, service_user

NEUTRAL_LOCALE = {"LC_ALL": "C", "TZ": "UTC"}


def spawn(
    paths: ServicePaths, command: list[str], *, cwd: Path, log: Path
) -> subprocess.Popen[bytes]:
    """Start a server as the service user, in its own session.

    A terminal's Ctrl-C does not reach it there.
    """
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            **_identity(paths),
        )


def run(paths: ServicePaths, command: list[str], *, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a tool to its end as the service user; return its output."""
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, **_identity(paths)
    )


def private_directory(paths: ServicePaths, directory: Path) -> Path:
    """Make `directory` the service user's own (mode 700).

    Raises ServiceError if it is a link or another user's directory.
    """
    for parent in reversed(directory.parents):
        passable_directory(paths, parent)
    directory.mkdir(mode=0o700, exist_ok=True)
    found = directory.lstat()
    owner = service_user().pw_uid if paths.drops_privileges else os.geteuid()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (owner, os.geteuid()):
        raise ServiceError(
            f"{directory} is a link or belongs to another user. Remove it, then try again."
        )
    if paths.drops_privileges:
        os.chown(directory, owner, service_user().pw_gid)
    directory.chmod(0o700)
    return directory


def passable_directory(paths: ServicePaths, directory: Path) -> None:
    """Make `directory` if there is none, open to the service user.

    Its mode does not depend on the umask.
    """
    if not directory.exists():
        directory.mkdir()
        if paths.drops_privileges:
            directory.chmod(0o755)


def readable_copy(paths: ServicePaths, folders: list[Path], *, name: str) -> Path:
    """Return the parent of `folders`, readable by the service user.

    This is their own parent, or a root-owned copy of it. A home directory is usually closed to
    other users, and the Python packages with the binaries often are in one.
    """
    if not paths.drops_privileges or _readable_by_service_user(folders[0]):
        return folders[0].parent
    target = ROOT_STATE / "packages" / name
    if not target.exists():
        aside = target.with_name(f".{name}.{os.getpid()}")
        for folder in folders:
            shutil.copytree(folder, aside / folder.name, symlinks=True)
        _open_to_read(aside)
        try:
            aside.rename(target)
        except OSError:  # another starter was first; its copy is the same
            shutil.rmtree(aside)
    return target


def _identity(paths: ServicePaths) -> dict[str, Any]:
    """Return subprocess's arguments that set the user and the environment.

    A server receives none of our environment variables.
    """
    environment = {**NEUTRAL_LOCALE, "PATH": os.defpath}
    if not paths.drops_privileges:
        return {"env": environment}
    user = service_user()
    return {"env": environment, "user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _readable_by_service_user(folder: Path) -> bool:
    user = service_user()
    probe = ["test", "-r", str(folder), "-a", "-x", str(folder)]
    return (
        subprocess.run(
            probe, user=user.pw_uid, group=user.pw_gid, extra_groups=[], cwd="/", check=False
        ).returncode
        == 0
    )


def _open_to_read(folder: Path) -> None:
    """Give everyone the owner's rights to read and execute."""
    for parent in (ROOT_STATE, ROOT_STATE / "packages"):
        parent.chmod(0o755)
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
