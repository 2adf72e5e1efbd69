"""Ask the scanner of the server (UPLOAD_SCANNER) about sent files.

It is a command that gets the folder of the files as its last argument and ends with 0 if they are
clean, as those of ClamAV do. What it prints is not shown: it may quote the files.
"""

from __future__ import annotations

import logging
import shlex
import subprocess
from pathlib import Path

from django.conf import settings

from ehr.uploads.names import UploadRefused

logger = logging.getLogger(__name__)

FOUND = (
    "The scanner of this server has found something harmful in these files. They were not stored."
)
NOT_SCANNED = (
    "The files could not be scanned, so they were not stored. Ask the operator to look at the"
    " scanner (UPLOAD_SCANNER)."
)
#: What ClamAV's commands return if they found something; other numbers are faults of their own.
HARMFUL = 1


def scan(folder: Path) -> None:
    """Raise UploadRefused unless the scanner says that all files are clean."""
    if not settings.UPLOAD_SCANNER:
        return
    status = _run(folder)
    if status != 0:
        logger.warning("the scanner of uploads ended with %s", status)
        raise UploadRefused(FOUND if status == HARMFUL else NOT_SCANNED)


def _run(folder: Path) -> int | None:
    """Return the status of the command; None if it did not end."""
    try:
        return subprocess.run(
            [*shlex.split(settings.UPLOAD_SCANNER), str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=settings.UPLOAD_SCANNER_SECONDS,
            check=False,
        ).returncode
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
