"""Fields that a write ignores: the status in an update of the object, everything else in an update of `/status`.

They are restored before the field managers are computed, so that a writer does not become the manager of a field
that it did not write.

A new Node keeps the status in the request, but its client does not become the status' manager, as in Kubernetes.

Source: ResetFieldsStrategy (GetResetFields) of the strategies, apiserver handlers/fieldmanager NewDefaultFieldManager.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kitlib.apiserver.http.resources import APIResource

Object = dict[str, Any]
_NAMES = ("apiVersion", "kind", "metadata")


def without_reset_fields(served: APIResource, body: Object, live: Mapping[str, Any], subresource: str) -> Object:
    """Return the object of a request; fields that the request may not change have their stored values.

    Args:
        served: the resource of the request.
        body: the object in the request.
        live: the stored object; empty if the object is new.
        subresource: `status`; "" for the object itself.
    """
    if served.subresource("status") is None:
        return body
    if subresource == "status":
        if served.schema is None:
            return _with(body, "spec", live)
        names = {name: body[name] for name in _NAMES if name in body}
        return _with(live, "status", body) | names
    return body if subresource else _with(body, "status", live)


def own_fields(served: APIResource, config: Object, subresource: str) -> Object:
    """Return an applied configuration without the fields that the request may not change."""
    if served.subresource("status") is None:
        return config
    if subresource == "status":
        if served.schema is None:
            return {name: value for name, value in config.items() if name != "spec"}
        return {name: value for name, value in config.items() if name in (*_NAMES, "status")}
    return {name: value for name, value in config.items() if subresource or name != "status"}


def _with(obj: Mapping[str, Any], name: str, source: Mapping[str, Any]) -> Object:
    """Return the object with the source's value of a field."""
    made = {key: value for key, value in obj.items() if key != name}
    return {**made, name: source[name]} if name in source else made
