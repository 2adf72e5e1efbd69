"""The worker of one machine: Celery's, with the backbone that waits."""

from __future__ import annotations

import os
import socket

import django

#: Name of the machine, if it has one of its own.
MACHINE = "SOAK_MACHINE"
#: Seconds that each of the backbone's four parts waits.
WAIT = "SOAK_WAIT_SECONDS"
#: Seconds after which a hint that nobody followed is sent again.
RESEND = "SOAK_RESEND_SECONDS"
OPTIONS = (
    "worker",
    "--queues=ingest,pipeline,generate,embed,judge",
    "--pool=solo",
    "--without-gossip",
    "--without-mingle",
    "--loglevel=WARNING",
)


def main() -> None:
    """Work until a signal."""
    if name := os.environ.get(MACHINE):
        socket.sethostname(name)
    django.setup()
    from config.celery import app
    from tests.soak.backbone import install

    install()
    app.worker_main(list(OPTIONS))


if __name__ == "__main__":
    main()
