"""Send the file of an export.

A broken download goes on where it ended: WhiteNoise's reader of ranges answers `Range`.
"""

from __future__ import annotations

from django.http import FileResponse, HttpRequest
from whitenoise.middleware import WhiteNoiseFileResponse
from whitenoise.responders import StaticFile

from timelines.exports.files import Store
from timelines.models import Export


def send_archive(request: HttpRequest, export: Export) -> FileResponse:
    """Return the file, or the part of it that was asked for.

    A part of another file (`If-Range`) gets the whole. Raises FileNotFoundError.
    """
    path = Store(export.public_id).archive
    if not path.is_file():
        raise FileNotFoundError("the file of the export is not on the disk")
    etag = f'"{export.sha256}"'
    name = f"timelines-{export.public_id}-{export.format}.zip"
    static = StaticFile(
        str(path),
        [
            ("Content-Type", "application/zip"),
            ("Content-Disposition", f'attachment; filename="{name}"'),
            ("Accept-Ranges", "bytes"),
            ("ETag", etag),
        ],
    )
    asked = {key: value for key, value in request.META.items() if key == "HTTP_RANGE"}
    if request.headers.get("If-Range", etag) != etag:
        asked = {}
    answer = static.get_response(request.method, asked)
    response = WhiteNoiseFileResponse(answer.file or (), status=answer.status)
    for header, value in answer.headers:
        response[header] = value
    return response
