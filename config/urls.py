"""The root of all addresses: each app brings its own, the API lives under /api/."""

from __future__ import annotations

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

urlpatterns: list[URLPattern | URLResolver] = [
    path("admin/", admin.site.urls),
    path("api/schema/", SpectacularAPIView.as_view(), name="api-schema"),
    # The split view serves its start-up script as a file of its own, which the content security
    # policy allows. It has no description of itself to give, so it takes no OPTIONS.
    path(
        "api/docs/",
        SpectacularSwaggerSplitView.as_view(
            url_name="api-schema", http_method_names=["get", "head"]
        ),
        name="api-docs",
    ),
]
for prefix, module in (
    ("", "accounts.urls"),
    ("", "llm_runtime.urls"),
    ("", "ehr.urls"),
    ("", "timelines.urls"),
    ("", "adjudication.urls"),
    ("api/", "adjudication.api.urls"),
    ("api/", "adjudication.api.urls_unknown"),
):
    urlpatterns.append(path(prefix, include(module)))
