"""Every other address of the API. It comes last: without it, a program would get an HTML page
for an unknown address.
"""

from __future__ import annotations

from django.urls import URLPattern, re_path

from adjudication.api.unknown import NAME, Unknown

urlpatterns: list[URLPattern] = [re_path(r"^(?P<rest>[\s\S]*)$", Unknown.as_view(), name=NAME)]
