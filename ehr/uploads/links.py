"""Addresses that notifications and pages share."""

from __future__ import annotations

from django.urls import reverse

from ehr.models import Upload


def upload_page(upload: Upload) -> str:
    """Return the address of the page of an upload."""
    return reverse("ehr:upload", args=[upload.public_id])
