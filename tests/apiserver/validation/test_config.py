"""ConfigMaps, Secrets, ServiceAccounts and Namespaces."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from kitlib.api.core import ConfigMap, Namespace, Secret, ServiceAccount
from kitlib.api.names import CONFIG_MAP_KEY_TEXT, QUALIFIED_TEXT
from kitlib.apiserver.validation import config
from tests.apiserver.validation.told import named, told

MIB = 1024 * 1024


def b64(data: bytes | str) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


def config_map(**fields: Any) -> ConfigMap:
    return named(ConfigMap, "a", "n", **fields)


def secret(type_: str = "", data: dict[str, str] | None = None, **fields: Any) -> Secret:
    whole = {key: b64(value) for key, value in (data or {}).items()}
    return named(Secret, "a", "n", type=type_, data=whole, **fields)


@pytest.mark.parametrize(
    ("obj", "errors"),
    [
        (config_map(data={"a": "x"}, binaryData={"b": "eA=="}), []),
        (
            config_map(data={"a": "x"}, binaryData={"a": "eA=="}),
            ["data[a] Invalid duplicate of key present in binaryData"],
        ),
        (
            config_map(data={"a/b": "x"}, binaryData={"..": ""}),
            [f"data[a/b] Invalid {CONFIG_MAP_KEY_TEXT}", "binaryData[..] Invalid must not be '..'"],
        ),
        (config_map(data={"a": "x" * (MIB - 1)}, binaryData={"b": "eA=="}), []),
        (
            config_map(data={"a": "x" * MIB}, binaryData={"b": "eA=="}),
            ["[] TooLong may not be more than 1048576 bytes"],
        ),
        (config_map(data={"a": "ä" * (MIB // 2)}), []),
        (config_map(data={"a": "ä" * (MIB // 2) + "x"}), ["[] TooLong may not be more than 1048576 bytes"]),
    ],
)
def test_config_maps(obj: ConfigMap, errors: list[str]) -> None:
    """Source: ValidateConfigMap."""
    assert told(config.validate_config_map(obj)) == errors


IMMUTABLE = "Forbidden field is immutable when `immutable` is set"


def test_an_immutable_config_map() -> None:
    old = config_map(data={"a": "x"}, binaryData={"b": "eA=="}, immutable=True)
    assert told(config.validate_config_map_update(old, old)) == []
    found = told(config.validate_config_map_update(config_map(data={"a": "y"}), old))
    assert found == [f"immutable {IMMUTABLE}", f"data {IMMUTABLE}", f"binaryData {IMMUTABLE}"]
    assert told(config.validate_config_map_update(old, config_map())) == []


DOCKER = "kubernetes.io/dockerconfigjson"
NOT_A_MAP = "data[.dockerconfigjson] Invalid json: cannot unmarshal {} into Go value of type map[string]interface {{}}"


@pytest.mark.parametrize(
    ("obj", "errors"),
    [
        (secret("x", {"a": "x"}), []),
        (secret("x", {"a/b": "x"}), [f"data[a/b] Invalid {CONFIG_MAP_KEY_TEXT}"]),
        (secret("x", {"a": "x" * MIB}), []),
        (secret("x", {"a": "x" * MIB, "b": "y"}), ["data TooLong may not be more than 1048576 bytes"]),
        (
            secret("kubernetes.io/service-account-token"),
            ["metadata.annotations[kubernetes.io/service-account.name] Required"],
        ),
        (
            secret(
                "kubernetes.io/service-account-token",
                metadata={"annotations": {"kubernetes.io/service-account.name": "s"}},
            ),
            [],
        ),
        (secret(DOCKER), ["data[.dockerconfigjson] Required"]),
        (secret("kubernetes.io/dockercfg"), ["data[.dockercfg] Required"]),
        (secret(DOCKER, {".dockerconfigjson": "{}"}), []),
        (secret(DOCKER, {".dockerconfigjson": "null"}), []),
        (
            secret(DOCKER, {".dockerconfigjson": "[]"}),
            [NOT_A_MAP.format("array")],
        ),
        (
            secret(DOCKER, {".dockerconfigjson": "1"}),
            [NOT_A_MAP.format("number")],
        ),
        (secret(DOCKER, {".dockerconfigjson": ""}), ["data[.dockerconfigjson] Invalid unexpected end of JSON input"]),
        (secret("kubernetes.io/basic-auth"), ["data[username] Required", "data[password] Required"]),
        (secret("kubernetes.io/basic-auth", {"password": ""}), []),
        (secret("kubernetes.io/ssh-auth"), ["data[ssh-privatekey] Required"]),
        (secret("kubernetes.io/ssh-auth", {"ssh-privatekey": ""}), ["data[ssh-privatekey] Required"]),
        (secret("kubernetes.io/ssh-auth", {"ssh-privatekey": "x"}), []),
        (secret("kubernetes.io/tls", {"tls.crt": ""}), ["data[tls.key] Required"]),
        (secret("kubernetes.io/tls", {"tls.crt": "", "tls.key": ""}), []),
    ],
)
def test_secrets(obj: Secret, errors: list[str]) -> None:
    """Source: ValidateSecret; contents are not shown."""
    found = config.validate_secret(obj)
    assert told(found) == errors
    assert all(error.value == "<secret contents redacted>" for error in found if "json" in error.field and error.value)


def test_an_update_of_a_secret() -> None:
    old = secret("x", {"a": "x"}, immutable=True)
    assert told(config.validate_secret_update(old, old)) == []
    assert told(config.validate_secret_update(secret("y", {"a": "y"}), old)) == [
        "type Invalid field is immutable",
        f"immutable {IMMUTABLE}",
        f"data {IMMUTABLE}",
    ]


def test_accounts_and_namespaces() -> None:
    assert told(config.validate_service_account(named(ServiceAccount, "a.b", "n"))) == []
    account = named(ServiceAccount, "b", "n")
    assert told(config.validate_service_account_update(account, named(ServiceAccount, "a", "n"))) == [
        "metadata.name Invalid field is immutable"
    ]
    assert told(config.validate_namespace(named(Namespace, "a.b"))) == ["metadata.name Invalid must not contain dots"]
    detail = "spec.finalizers Invalid name is neither a standard finalizer name nor is it fully qualified"
    for finalizer, errors in (
        ("kubernetes", []),
        ("a.b/c", []),
        ("orphan", []),
        ("mine", [detail]),
        ("-", [f"spec.finalizers Invalid name part {QUALIFIED_TEXT}", detail]),
    ):
        assert told(config.validate_namespace(named(Namespace, spec={"finalizers": [finalizer]}))) == errors
    assert told(config.validate_namespace_update(named(Namespace, "b"), named(Namespace, "a"))) == [
        "metadata.name Invalid field is immutable"
    ]
