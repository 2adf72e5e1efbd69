"""Errors of the embedded services, each with what to do about it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

#: What to do about an error of the file system.
OTHER_KIND = "Something else has this name. Move it away, then try again."
CLOSED = (
    "Make it readable and writable for the user that starts Occurrent, or set OCCURRENT_VAR to a"
    " directory that is."
)
FULL = "Free space on the disk, then try again."
WAYS_OUT = {
    **dict.fromkeys((errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ENOTEMPTY), OTHER_KIND),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), CLOSED),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), FULL),
}


class ServiceError(Exception):
    """A service could not be started, reached or stopped.

    The message says which service, why, and what to do.
    """

    log_safe = True


@contextmanager
def explain_file_errors() -> Iterator[None]:
    """Turn an error of the file system into a ServiceError.

    The message has the path, the reason and what to do.
    """
    try:
        yield
    except OSError as error:
        place = os.fsdecode(error.filename2 or error.filename or "A file of the services")
        way_out = WAYS_OUT.get(error.errno or 0, "Check this path, then try again.")
        raise ServiceError(
            f"{place}: {error.strerror or type(error).__name__}. {way_out}"
        ) from error
