"""Start, attach to and stop the embedded services together.

A service is left alone if an address in the environment replaces it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from config.env import environment
from config.services import broker, postgres, privileges
from config.services.errors import explain_file_errors
from config.services.locking import exclusive
from config.services.paths import ServicePaths

SERVICES: dict[str, ModuleType] = {"postgres": postgres, "broker": broker}
REPLACED_BY = {"postgres": "DATABASE_URL", "broker": "BROKER_URL"}


def find_required_services(variables: Mapping[str, str]) -> list[str]:
    """The services that no address in the environment replaces."""
    return [
        name
        for name, variable in REPLACED_BY.items()
        if not (variables.get(variable) or variables.get(f"{variable}_FILE"))
    ]


def ensure_running(paths: ServicePaths, names: list[str] | None = None) -> list[str]:
    """Start the services that are down; return their names.

    This takes milliseconds if all run. Raises ServiceError.
    """
    wanted = list(SERVICES) if names is None else names
    if not (missing := _find_stopped(paths, wanted)):
        return []
    with explain_file_errors(), exclusive(paths.locks / "services"):
        missing = _find_stopped(paths, wanted)
        if missing:
            _prepare(paths)
        for name in missing:
            SERVICES[name].start(paths)
    return missing


def stop(paths: ServicePaths, names: list[str] | None = None) -> None:
    """Stop the services, the broker first."""
    with explain_file_errors(), exclusive(paths.locks / "services"):
        for name in reversed(list(SERVICES) if names is None else names):
            SERVICES[name].stop(paths)


def status(paths: ServicePaths) -> dict[str, bool]:
    """Which of the services answer."""
    return {name: service.is_running(paths) for name, service in SERVICES.items()}


def ensure_environment(paths: ServicePaths) -> list[str]:
    """Run `ensure_running` for the services that the environment needs.

    An address in the environment of this process, or in `.env`, replaces a service.
    """
    return ensure_running(paths, find_required_services(environment()))


def _find_stopped(paths: ServicePaths, names: list[str]) -> list[str]:
    return [name for name in names if not SERVICES[name].is_running(paths)]


def _prepare(paths: ServicePaths) -> None:
    if paths.state == paths.var and paths.drops_privileges:
        paths.var.chmod(0o755)  # the lock made it, under the caller's umask
    for directory in (paths.state, paths.sockets, paths.logs, paths.broker_data):
        if directory != paths.var:
            privileges.private_directory(paths, directory)
