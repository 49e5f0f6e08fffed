"""How the OpenAPI document describes a resource: from what the resource says of itself."""

from __future__ import annotations

from drf_spectacular.openapi import AutoSchema


class Description(AutoSchema):
    pass
