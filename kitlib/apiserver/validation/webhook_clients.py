"""Validation of webhooks' client configurations: a URL or a service.

Source: apiserver util/webhook ValidateWebhookURL, ValidateWebhookService; ValidateCABundle is not implemented.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from kitlib.api.apiextensions import ServiceReference, WebhookClientConfig
from kitlib.api.field_errors import Errors, invalid, required
from kitlib.api.names import is_dns1123_subdomain, is_valid_port_num

_FORM = "; desired format: https://host[/path]"


def validate_client_config(client: WebhookClientConfig, path: str) -> Errors:
    """Check that exactly one of URL and service is set and well formed."""
    service = client.service
    if (client.url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if service is not None:
        return _service(service, f"{path}.service")
    return validate_url(client.url or "", f"{path}.url")


def _service(service: ServiceReference, path: str) -> Errors:
    """Source: ValidateWebhookService."""
    found = [] if service.name else [required(f"{path}.name", "service name is required")]
    if not service.namespace:
        found.append(required(f"{path}.namespace", "service namespace is required"))
    wrong = is_valid_port_num(service.port) if service.port is not None else ()
    if wrong:
        found.append(invalid(f"{path}.port", service.port, f"port is not valid: {','.join(wrong)}"))
    return found + _path(service.path or "", f"{path}.path")


def _path(text: str, path: str) -> Errors:
    if text in ("", "/"):
        return []
    if text == "//":
        return [invalid(path, text, "segment[0] may not be empty")]
    found = [] if text.startswith("/") else [invalid(path, text, "must start with a '/'")]
    for i, step in enumerate(text[1:].removesuffix("/").split("/")):
        if not step:
            found.append(invalid(path, text, f"segment[{i}] may not be empty"))
            continue
        found += [invalid(path, text, f"segment[{i}]: {wrong}") for wrong in is_dns1123_subdomain(step)]
    return found


def validate_url(text: str, path: str) -> Errors:
    """Source: ValidateWebhookURL."""
    url = urlsplit(text)
    found: Errors = []
    if url.scheme != "https":
        found.append(invalid(path, url.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    user, at, host = url.netloc.rpartition("@")
    if not host:
        found.append(invalid(path, host, f"host must be specified{_FORM}"))
    if at:
        found.append(invalid(path, user, "user information is not permitted in the URL"))
    if url.fragment:
        found.append(invalid(path, url.fragment, "fragments are not permitted in the URL"))
    if url.query:
        found.append(invalid(path, url.query, "query parameters are not permitted in the URL"))
    return found
