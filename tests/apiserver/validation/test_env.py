"""Environment variables and their sources."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Container
from kitlib.api.names import CONFIG_MAP_KEY_TEXT, QUALIFIED_TEXT, RELAXED_ENV_TEXT, SUBDOMAIN_TEXT
from kitlib.apiserver.validation import env
from tests.apiserver.validation.told import part, told


def of_env(*variables: dict[str, Any]) -> list[str]:
    return told(env.validate_env(part(Container, env=list(variables)).env, "e"))


def of_source(value: str = "", **source: Any) -> list[str]:
    return of_env({"name": "A", "value": value, "valueFrom": source})


FROM = "e[0].valueFrom"
FIELD = f"{FROM}.fieldRef.fieldPath"
SOURCES = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"


def test_names() -> None:
    assert of_env({"name": "A"}, {"name": "a b!"}) == []
    assert of_env({"name": ""}, {"name": "a=b"}) == ["e[0].name Required", f"e[1].name Invalid {RELAXED_ENV_TEXT}"]


KEY = {"name": "m", "key": "k"}


@pytest.mark.parametrize(
    ("source", "errors"),
    [
        ({"configMapKeyRef": KEY}, []),
        ({"secretKeyRef": KEY}, []),
        ({}, [f"{FROM} Invalid must specify one of: {SOURCES}"]),
        (
            {"configMapKeyRef": KEY, "secretKeyRef": KEY},
            [f"{FROM} Invalid may not have more than one field specified at a time"],
        ),
        (
            {"configMapKeyRef": {"name": "A", "key": ""}},
            [f"{FROM}.configMapKeyRef.name Invalid {SUBDOMAIN_TEXT}", f"{FROM}.configMapKeyRef.key Required"],
        ),
        ({"secretKeyRef": {"name": "m", "key": "a/b"}}, [f"{FROM}.secretKeyRef.key Invalid {CONFIG_MAP_KEY_TEXT}"]),
        ({"fileKeyRef": {"volumeName": "v", "path": "p", "key": "K"}}, []),
        ({"fileKeyRef": {}}, [f"{FROM}.fileKeyRef.{name} Required" for name in ("key", "volumeName", "path")]),
        (
            {"fileKeyRef": {"volumeName": "v", "path": "../p", "key": "a=b"}},
            [
                f"{FROM}.fileKeyRef.key Invalid {RELAXED_ENV_TEXT}",
                f"{FROM}.fileKeyRef.path Invalid must not contain '..'",
            ],
        ),
    ],
)
def test_sources(source: dict[str, Any], errors: list[str]) -> None:
    """Source: validateEnvVarValueFrom."""
    assert of_source(**source) == errors


def test_a_value_excludes_a_source() -> None:
    assert of_source("x", configMapKeyRef=KEY) == [f"{FROM} Invalid may not be specified when `value` is not empty"]


@pytest.mark.parametrize(
    ("path", "errors"),
    [
        ("metadata.name", []),
        ("status.podIPs", []),
        ("spec.host", []),
        ("metadata.labels['a']", []),
        ("metadata.annotations['A.B/c']", []),
        ("", [f"{FIELD} Required"]),
        ("metadata.labels['-']", [f"{FROM}.fieldRef Invalid name part {QUALIFIED_TEXT}"]),
        ("metadata.labels", [f"{FIELD} NotSupported supported values: "]),
        ("status.phase", [f"{FIELD} NotSupported supported values: "]),
        ("x", [f"{FIELD} Invalid error converting fieldPath: field label not supported: x"]),
        (
            "metadata.name['a']",
            [f"{FIELD} Invalid error converting fieldPath: field label does not support subscript: metadata.name['a']"],
        ),
    ],
)
def test_fields_of_a_pod(path: str, errors: list[str]) -> None:
    """Source: validateObjectFieldSelector, ConvertDownwardAPIFieldLabel."""
    found = of_source(fieldRef={"apiVersion": "v1", "fieldPath": path})
    assert [text.split('"metadata.name", ')[0] for text in found] == errors


def test_the_version_of_a_field() -> None:
    assert of_source(fieldRef={"fieldPath": "metadata.name"}) == [f"{FROM}.fieldRef.apiVersion Required"]
    found = of_source(fieldRef={"apiVersion": "v2", "fieldPath": "metadata.name"})
    assert found == [f"{FIELD} Invalid error converting fieldPath: unsupported pod version: v2"]


@pytest.mark.parametrize(
    ("path", "split"),
    [
        ("metadata.labels['a']", ("metadata.labels", "a")),
        ("metadata.labels['']", ("metadata.labels", "")),
        ("a['b']['c']", ("a", "b']['c")),
        ("metadata.name", ("metadata.name", None)),
        ("['a']", ("['a']", None)),
        ("a['b'", ("a['b'", None)),
    ],
)
def test_subscripts(path: str, split: tuple[str, str | None]) -> None:
    """Source: SplitMaybeSubscriptedPath."""
    assert env.split_maybe_subscripted_path(path) == split


RESOURCE = f"{FROM}.resourceFieldRef"
BYTES = "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the"


@pytest.mark.parametrize(
    ("resource", "divisor", "errors"),
    [
        ("limits.cpu", None, []),
        ("limits.cpu", "1m", []),
        ("limits.cpu", "1", []),
        ("requests.cpu", "2", ["divisor Invalid only divisor's values 1m and 1 are supported with the cpu resource"]),
        ("limits.memory", "1Mi", []),
        ("limits.memory", "1m", [f"divisor Invalid {BYTES} memory resource"]),
        ("requests.ephemeral-storage", "2", [f"divisor Invalid {BYTES} local ephemeral storage resource"]),
        ("limits.hugepages-2Mi", "3", [f"divisor Invalid {BYTES} hugepages resource"]),
        ("limits.hugepages-2Mi", "0", []),
        ("", None, ["resource Required"]),
    ],
)
def test_amounts_of_a_container(resource: str, divisor: str | None, errors: list[str]) -> None:
    """Source: validateContainerResourceFieldSelector, validateContainerResourceDivisor."""
    found = of_source(resourceFieldRef={"resource": resource, "divisor": divisor})
    assert found == [f"{RESOURCE}.{text}" for text in errors]


def test_an_unknown_amount() -> None:
    (found,) = of_source(resourceFieldRef={"resource": "cpu"})
    assert found.startswith(f'{RESOURCE}.resource NotSupported supported values: "limits.cpu", ')


@pytest.mark.parametrize(
    ("source", "errors"),
    [
        ({"configMapRef": {"name": "m"}}, []),
        ({"secretRef": {"name": "m-"}, "prefix": "P_"}, []),
        ({"prefix": "a=", "secretRef": {"name": "m"}}, [f"e[0].prefix Invalid {RELAXED_ENV_TEXT}"]),
        ({"secretRef": {}}, ["e[0].secretRef.name Required"]),
        ({"configMapRef": {"name": "-"}}, [f"e[0].configMapRef.name Invalid {SUBDOMAIN_TEXT}"]),
        ({}, ["e Invalid must specify one of: `configMapRef` or `secretRef`"]),
        (
            {"configMapRef": {"name": "m"}, "secretRef": {"name": "m"}},
            ["e Invalid may not have more than one field specified at a time"],
        ),
    ],
)
def test_whole_sources(source: dict[str, Any], errors: list[str]) -> None:
    """Source: ValidateEnvFrom."""
    assert told(env.validate_env_from(part(Container, envFrom=[source]).env_from, "e")) == errors
