"""Start, stop or check the embedded services by hand.

`python -m config.services start|stop|status|url` (`make services`, `make stop`).
"""

from __future__ import annotations

import argparse
import sys

from config.env import EnvError, environment
from config.services import embedded
from config.services.errors import ServiceError
from config.services.paths import ServicePaths, default_paths


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return the exit status.

    The status is 1 if a service is down or an error was shown.
    """
    parser = argparse.ArgumentParser(prog="python -m config.services", description=__doc__)
    parser.add_argument("command", choices=("start", "stop", "status", "url"))
    command = parser.parse_args(arguments).command
    try:
        return {"start": _start, "stop": _stop, "status": _status, "url": _url}[command](
            default_paths()
        )
    except (EnvError, ServiceError) as error:
        print(error, file=sys.stderr)
        return 1


def _start(paths: ServicePaths) -> int:
    needed = embedded.find_required_services(environment())
    started = embedded.ensure_running(paths, needed)
    for name, variable in embedded.REPLACED_BY.items():
        print(
            f"{name}:"
            f" {'started' if name in started else 'running' if name in needed else f'external ({variable} is set)'}"
        )
    return 0


def _stop(paths: ServicePaths) -> int:
    embedded.stop(paths)
    print("stopped")
    return 0


def _status(paths: ServicePaths) -> int:
    found = embedded.status(paths)
    for name, running in found.items():
        print(f"{name}: {'running' if running else 'stopped'}")
    return 0 if all(found.values()) else 1


def _url(paths: ServicePaths) -> int:
    print(f"DATABASE_URL={paths.database_url}")
    print(f"DATABASE_OWNER_URL={paths.database_owner_url}")
    print(f"BROKER_URL={paths.broker_url}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
