"""The root of all addresses: each app's own, and the API under /api/."""

from __future__ import annotations

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from config.views import health, metrics, operations

urlpatterns: list[URLPattern | URLResolver] = [
    # Without a slash at the end, as monitoring expects them.
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics.metrics, name="metrics"),
    path("operations/", operations.operations, name="operations"),
    path("operations/models/", operations.models, name="operations_models"),
    path("operations/retry/", operations.retry, name="operations_retry"),
    path("admin/", admin.site.urls),
    path("api/schema/", SpectacularAPIView.as_view(), name="api-schema"),
    # The start-up script of the split view is a file of its own, and so are the styles of our
    # template, as the content security policy requires. It has no description of itself, so it takes no OPTIONS.
    path(
        "api/docs/",
        SpectacularSwaggerSplitView.as_view(
            url_name="api-schema",
            template_name="api_docs.html",
            http_method_names=["get", "head"],
        ),
        name="api-docs",
    ),
]
for prefix, module in (
    ("", "accounts.urls"),
    ("", "jobs.urls"),
    ("", "llm_runtime.urls"),
    ("", "ehr.urls"),
    ("", "timelines.urls"),
    ("", "adjudication.urls"),
    ("", "cohorts.urls"),
    ("api/", "accounts.api.urls"),
    ("api/", "jobs.api.urls"),
    ("api/", "ehr.api.urls"),
    ("api/", "timelines.api.urls"),
    ("api/", "adjudication.api.urls"),
    ("api/", "cohorts.api.urls"),
    ("api/", "accounts.api.urls_unknown"),
):
    urlpatterns.append(path(prefix, include(module)))
