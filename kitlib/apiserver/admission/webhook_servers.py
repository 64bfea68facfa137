"""The server of a webhook's client configuration, and the request that it gets.

Source: apiserver pkg/util/webhook/client.go (ClientManager.HooksClient); pkg/util/proxy ResolveEndpoint.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kitlib.api.core import Service
from kitlib.apiserver.admission.service_pods import PodPort, ready_pod
from kitlib.apiserver.admission.webhook_calls import WebhookCall, WebhookError, WebhookServer
from kitlib.apiserver.store.store import Store

if TYPE_CHECKING:  # loaded with the first configuration
    from kitlib.api.apiextensions import WebhookClientConfig

_HTTPS = 443
_TIMED = ("creationTimestamp", "managedFields")
"""Metadata fields that contain the time of the attempt."""


def call_of(name: str, target: WebhookServer, review: Mapping[str, Any]) -> WebhookCall:
    """Return a call with the UID of its request.

    Key and UID are the same when the request is handled again, although timestamps differ.
    """
    asked = dict(review["request"])
    for field in ("object", "oldObject"):
        if asked.get(field):
            meta = {k: v for k, v in asked[field].get("metadata", {}).items() if k not in _TIMED}
            asked[field] = {**asked[field], "metadata": meta}
    key = f"{name} {json.dumps(asked, sort_keys=True, default=str)}"
    # Derived from the request, so that a repeated attempt accepts the response to the first one.
    uid = str(uuid.UUID(bytes=hashlib.sha256(key.encode()).digest()[:16], version=4))
    return WebhookCall(target, {**review, "request": {**review["request"], "uid": uid}}, key)


def target_of(store: Store, config: WebhookClientConfig, timeout: float) -> WebhookServer:
    """Return the server of a client configuration.

    Raises:
        WebhookError: the configuration has no reachable server.
    """
    authority = config.ca_bundle or b""
    if config.url:
        parts = urlsplit(config.url)
        host, port = parts.hostname or "", parts.port or _HTTPS
        return WebhookServer(config.url, host, port, host, authority, timeout)
    wanted = config.service
    if wanted is None:
        raise WebhookError("webhook does not contain either a url or a service reference")
    service: Service | None = store.find(Service, wanted.name, wanted.namespace, copy=False)
    if service is None:
        raise WebhookError(f'service "{wanted.name}" not found')
    port = wanted.port or _HTTPS
    name = f"{wanted.name}.{wanted.namespace}.svc"
    url = f"https://{name}:{port}/{(wanted.path or '').lstrip('/')}"
    if service.spec.type == "ExternalName":
        return WebhookServer(url, service.spec.external_name, port, name, authority, timeout)
    return WebhookServer(url, name, port, name, authority, timeout, _ready_pod(store, service, port))


def _ready_pod(store: Store, service: Service, port: int) -> PodPort:
    """Return the port of a ready pod that a Service selects.

    Raises:
        WebhookError: the Service has no such port, or no ready pod.
    """
    wanted = next((one for one in service.spec.ports if one.port == port), None)
    if wanted is None:
        raise WebhookError(f'no service port {port} found for service "{service.name}"')
    found = ready_pod(store, service, wanted)
    if found is None:
        raise WebhookError(f'no endpoints available for service "{service.name}"')
    return found
