"""Write the files of a request straight to the disk.

Files are taken on the page of imports and by the API, from study admins only. Elsewhere, and from others, they are
dropped before any is stored.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, StopUpload
from django.http import HttpRequest

from accounts.permissions import user_can_manage_study
from accounts.requests.guard import API_UPLOADS, UPLOADS
from accounts.scoping import active_study
from ehr.uploads.names import UploadRefused
from ehr.uploads.storage import make_arrival


class ReceivedFile(UploadedFile):
    """A file of a request, on the disk."""

    def __init__(self, path: Path, name: str, size: int) -> None:
        super().__init__(file=None, name=name, size=size)
        self.path = path

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        """Yield the bytes in pieces."""
        with self.path.open("rb") as file:
            while piece := file.read(chunk_size or self.DEFAULT_CHUNK_SIZE):
                yield piece

    def close(self) -> None:
        """Do nothing: it was closed after its last byte."""


class ReceivingHandler(FileUploadHandler):
    """Receives each file into the arrival folder of its request."""

    def __init__(self, request: HttpRequest | None = None) -> None:
        super().__init__(request)
        self._received = 0
        self._files = 0
        self._open: BinaryIO | None = None
        self._arrival: Path | None = None

    def new_file(self, *args: Any, **options: Any) -> None:
        """Open the next file. Raises StopUpload if none is wanted."""
        super().new_file(*args, **options)
        request = self.request
        assert request is not None
        if not _may_send(request):
            raise StopUpload
        if self._arrival is None:
            self._arrival = request.arrival = make_arrival()  # type: ignore[attr-defined]
        self._path = self._arrival / f"{self._files:06}"
        self._files += 1
        self._open = self._path.open("wb")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Write a part. Raises StopUpload beyond UPLOAD_BYTES."""
        self._received += len(raw_data)
        if self._received > settings.UPLOAD_BYTES:
            self.upload_interrupted()
            self.request.upload_refusal = (  # type: ignore[union-attr]
                f"The files have more than {settings.UPLOAD_BYTES:,} bytes (UPLOAD_BYTES). Send"
                " fewer at once, or ask the operator for a folder on the server."
            )
            raise StopUpload
        assert self._open is not None
        self._open.write(raw_data)

    def file_complete(self, file_size: int) -> ReceivedFile:
        """Close the file and return it."""
        self.upload_interrupted()
        return ReceivedFile(self._path, self.file_name or "", file_size)

    def upload_interrupted(self) -> None:
        """Close a file that did not end."""
        if self._open is not None:
            self._open.close()
            self._open = None


def take_files(request: HttpRequest, paths: list[str]) -> list[tuple[str, Path]]:
    """Return the received files under their names.

    `paths` are their names with folders, in the same order, if a script sent these. Raises
    UploadRefused if the files were not received whole.
    """
    if refusal := getattr(request, "upload_refusal", ""):
        raise UploadRefused(refusal)
    sent = request.FILES.getlist("files")
    files = [file for file in sent if isinstance(file, ReceivedFile)]
    names = paths if paths else [file.name or "" for file in files]
    if len(names) != len(files):
        raise UploadRefused("The names do not fit the files. Send them again.")
    return [(name, file.path) for name, file in zip(names, files, strict=True)]


def drop_arrival(request: HttpRequest) -> None:
    """Remove what a request has sent and nobody took."""
    if arrival := getattr(request, "arrival", None):
        shutil.rmtree(arrival, ignore_errors=True)


def _may_send(request: HttpRequest) -> bool:
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return False
    if request.path_info == API_UPLOADS:
        # The view has found the study before it reads the files.
        return getattr(request, "upload_study", None) is not None
    if request.path_info != UPLOADS:
        return False
    study = active_study(request)
    return study is not None and user_can_manage_study(user, study)
