"""Describe tokens for OpenAPI.

This is a separate module, because the framework's settings import token classes before it.
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension


class ApiTokenScheme(OpenApiAuthenticationExtension):
    """`accounts.api_access.authentication` as an HTTP bearer token.

    Defining the class registers it.
    """

    target_class = "accounts.api_access.authentication.ApiTokenAuthentication"
    name = "token"
    priority = 1

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """Its security scheme."""
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A token of the page API tokens, or of `manage.py api_token`.",
        }
