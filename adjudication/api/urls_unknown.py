"""Whatever no other address of the API is called. Stands last; without it a program would be told
in HTML.
"""

from __future__ import annotations

from django.urls import URLPattern, re_path

from adjudication.api.unknown import NAME, Unknown

urlpatterns: list[URLPattern] = [re_path(r"^(?P<rest>[\s\S]*)$", Unknown.as_view(), name=NAME)]
