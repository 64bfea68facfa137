"""A webhook's client has a URL or a service."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.apiextensions import WebhookClientConfig
from kitlib.api.names import SUBDOMAIN_TEXT
from kitlib.apiserver.validation.webhook_clients import validate_client_config, validate_url
from tests.apiserver.validation.told import part, told

SERVICE = {"name": "s", "namespace": "n"}


@pytest.mark.parametrize(
    ("client", "errors"),
    [
        ({}, ["c Required exactly one of url or service is required"]),
        ({"url": "https://a", "service": SERVICE}, ["c Required exactly one of url or service is required"]),
        ({"url": "https://a"}, []),
        ({"service": SERVICE}, []),
        ({"service": {}}, [
            "c.service.name Required service name is required",
            "c.service.namespace Required service namespace is required",
        ]),
        ({"service": {**SERVICE, "port": 0}}, [
            "c.service.port Invalid port is not valid: must be between 1 and 65535, inclusive"
        ]),
        ({"service": {**SERVICE, "port": 65535}}, []),
        ({"url": "http://a"}, ["c.url Invalid 'https' is the only allowed URL scheme; desired format: "
                               "https://host[/path]"]),
    ],
)  # fmt: skip
def test_a_client(client: dict[str, Any], errors: list[str]) -> None:
    assert told(validate_client_config(part(WebhookClientConfig, **client), "c")) == errors


@pytest.mark.parametrize(
    ("path", "details"),
    [
        ("", []),
        ("/", []),
        ("/a", []),
        ("/a/b.c/", []),
        ("//", ["segment[0] may not be empty"]),
        ("/a//b", ["segment[1] may not be empty"]),
        ("a", ["must start with a '/'", "segment[0] may not be empty"]),
        ("/A", [f"segment[0]: {SUBDOMAIN_TEXT}"]),
        ("/a/_", [f"segment[1]: {SUBDOMAIN_TEXT}"]),
    ],
)
def test_the_path_of_a_service(path: str, details: list[str]) -> None:
    """Source: ValidateWebhookService."""
    client = part(WebhookClientConfig, service={**SERVICE, "path": path})
    found = validate_client_config(client, "c")
    assert [error.detail for error in found] == details
    assert all(error.field == "c.service.path" for error in found)


FORM = "; desired format: https://host[/path]"


@pytest.mark.parametrize(
    ("url", "details"),
    [
        ("https://a/b", []),
        ("https://a:1/b", []),
        ("a", [f"'https' is the only allowed URL scheme{FORM}", f"host must be specified{FORM}"]),
        ("https:///b", [f"host must be specified{FORM}"]),
        ("https://u:p@a", ["user information is not permitted in the URL"]),
        ("https://a#f", ["fragments are not permitted in the URL"]),
        ("https://a?q=1", ["query parameters are not permitted in the URL"]),
        ("http://u@a?q#f", [
            f"'https' is the only allowed URL scheme{FORM}",
            "user information is not permitted in the URL",
            "fragments are not permitted in the URL",
            "query parameters are not permitted in the URL",
        ]),
    ],
)  # fmt: skip
def test_a_url(url: str, details: list[str]) -> None:
    """Source: ValidateWebhookURL."""
    assert [error.detail for error in validate_url(url, "f")] == details
