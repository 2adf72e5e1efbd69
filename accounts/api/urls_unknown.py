"""All other addresses of the API, included last.

Without it, a program would get an HTML page for an unknown address.
"""

from __future__ import annotations

from django.urls import URLPattern, re_path

from accounts.api.unknown import NAME, Unknown

urlpatterns: list[URLPattern] = [re_path(r"^(?P<rest>[\s\S]*)$", Unknown.as_view(), name=NAME)]
