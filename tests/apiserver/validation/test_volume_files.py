"""Volumes of files: ConfigMaps, Secrets, the pod's own fields, tokens, certificates, and their projections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kitlib.api import volume_files as types
from kitlib.api.meta import KubeStruct
from kitlib.api.names import LABEL_TEXT, SUBDOMAIN_TEXT
from kitlib.apiserver.validation import volume_files
from tests.apiserver.validation.told import part, told

MODE = "must be a number between 0 and 0777 (octal), both inclusive"
STEPS, RELATIVE = "must not contain '..'", "must be a relative path"
RESERVED = "must not start with '..'"
ONE = "may not specify more than 1 volume type per source"
TWICE = "v Invalid conflicting duplicate paths"
NAME_FIELD = {"fieldPath": "metadata.name", "apiVersion": "v1"}
Rule = Callable[[Any, str], Any]
KINDS: list[tuple[type[KubeStruct], Rule, str]] = [
    (types.SecretVolumeSource, volume_files.validate_secret_volume_source, "secretName"),
    (types.ConfigMapVolumeSource, volume_files.validate_config_map_volume_source, "name"),
]


@pytest.mark.parametrize(("type_", "rule", "name"), KINDS)
def test_secrets_and_config_maps(type_: type[KubeStruct], rule: Rule, name: str) -> None:
    """Source: validateSecretVolumeSource, validateConfigMapVolumeSource, validateKeyToPath."""

    def errors(**fields: Any) -> list[str]:
        return told(rule(part(type_, **{name: "a", **fields}), "v"))

    assert errors() == []
    assert errors(items=[{"key": "k", "path": "a/b", "mode": 0}, {"key": "l", "path": "c", "mode": 0o777}]) == []
    for mode in (0, 0o777):
        assert errors(defaultMode=mode) == []
    for mode in (-1, 0o1000):
        assert errors(defaultMode=mode, items=[{"key": "k", "path": "p", "mode": mode}]) == [
            f"v.defaultMode Invalid {MODE}",
            f"v.items[0].mode Invalid {MODE}",
        ]
    assert told(rule(part(type_, defaultMode=-1, items=[{"key": "k", "path": "p"}, {}]), "v")) == [
        f"v.{name} Required",
        f"v.defaultMode Invalid {MODE}",
        "v.items[1].key Required",
        "v.items[1].path Required",
    ]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/..b", []),
        ("/a", [RELATIVE]),
        ("a/../b", [STEPS]),
        ("/..", [RELATIVE, STEPS]),
        ("..", [STEPS, RESERVED]),
        ("../a", [STEPS]),
        ("..a", [RESERVED]),
    ],
)
def test_paths_of_files(path: str, expected: list[str]) -> None:
    """Source: ValidateLocalNonReservedPath."""
    secret = part(types.SecretVolumeSource, secretName="a", items=[{"key": "k", "path": path}])
    found = told(volume_files.validate_secret_volume_source(secret, "v"))
    assert found == [f"v.items[0].path Invalid {text}" for text in expected]
    downward = part(types.DownwardAPIVolumeSource, items=[{"path": path, "fieldRef": NAME_FIELD}])
    found = told(volume_files.validate_downward_api_volume_source(downward, "v"))
    assert found == [f"v.path Invalid {text}" for text in expected]


CPU = {"resource": "limits.cpu", "containerName": "c"}


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ({"path": "p", "fieldRef": NAME_FIELD, "mode": 0o777}, []),
        ({"path": "p", "resourceFieldRef": CPU, "mode": 0}, []),
        ({"path": "p"}, ["v Required one of fieldRef and resourceFieldRef is required"]),
        (
            {"fieldRef": NAME_FIELD, "resourceFieldRef": CPU, "mode": 0o1000},
            [
                "v.path Required",
                "v Invalid fieldRef and resourceFieldRef can not be specified simultaneously",
                f"v.mode Invalid {MODE}",
            ],
        ),
        (
            {"path": "p", "fieldRef": {"fieldPath": "spec.nodeName", "apiVersion": "v1"}, "mode": -1},
            [
                'v.fieldRef.fieldPath NotSupported supported values: "metadata.annotations", "metadata.labels", '
                '"metadata.name", "metadata.namespace", "metadata.uid"',
                f"v.mode Invalid {MODE}",
            ],
        ),
        ({"path": "p", "resourceFieldRef": {"resource": "limits.cpu"}}, ["v.resourceFieldRef.containerName Required"]),
    ],
)
def test_files_of_the_pods_own_fields(file: dict[str, Any], expected: list[str]) -> None:
    """The path of an error has no index. Source: validateDownwardAPIVolumeFile."""
    good = {"path": "q", "fieldRef": NAME_FIELD}
    source = part(types.DownwardAPIVolumeSource, items=[good, file])
    assert told(volume_files.validate_downward_api_volume_source(source, "v")) == expected
    source = part(types.DownwardAPIVolumeSource, items=[file], defaultMode=0o1000)
    found = told(volume_files.validate_downward_api_volume_source(source, "v"))
    assert found == [f"v.defaultMode Invalid {MODE}", *expected]


def projected(*sources: dict[str, Any], **fields: Any) -> list[str]:
    source = part(types.ProjectedVolumeSource, sources=list(sources), **fields)
    return told(volume_files.validate_projected_volume_source(source, "v"))


def files(*paths: str) -> dict[str, Any]:
    return {"name": "n", "items": [{"key": "k", "path": path} for path in paths]}


def test_projections_of_secrets_and_config_maps() -> None:
    """Source: validateProjectedVolumeSource, validateProjectionSources."""
    assert projected() == projected({}) == projected(defaultMode=0) == projected(defaultMode=0o777) == []
    assert projected(defaultMode=0o1000) == projected(defaultMode=-1) == [f"v.defaultMode Invalid {MODE}"]
    assert projected({"secret": {"name": "n"}}, {"configMap": files("a", "b")}, {"secret": files("c")}) == []
    for kind in ("secret", "configMap"):
        assert projected({}, {kind: {"items": [{"path": "/a"}]}}) == [
            f"v.sources[1].{kind}.name Required",
            f"v.sources[1].{kind}.items[0].key Required",
            f"v.sources[1].{kind}.items[0].path Invalid {RELATIVE}",
        ]
        assert projected({kind: files("", "")}) == [
            f"v.sources[0].{kind}.items[{i}].path Required" for i in range(2)
        ], "empty paths are no duplicates"


def bundle(path: str) -> dict[str, Any]:
    return {"clusterTrustBundle": {"name": "b", "path": path}}


def certificate(**fields: Any) -> dict[str, Any]:
    made = {"signerName": "example.com/a", "keyType": "ED25519", "credentialBundlePath": "x", **fields}
    return {"podCertificate": {name: value for name, value in made.items() if value is not None}}


PATHS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"secret": files("a")}, {"configMap": files("b", "a")}, "n"),
    ({"configMap": files("a")}, {"secret": files("a")}, "n"),
    ({"secret": files("a", "a")}, {}, "n"),
    ({"secret": files("a")}, {"downwardAPI": {"items": [{"path": "a", "fieldRef": NAME_FIELD}]}}, "a"),
    ({"secret": files("a")}, bundle("a"), "a"),
    (bundle("a"), {"secret": files("a")}, "n"),
    ({"secret": files("x")}, certificate(), "x"),
    (certificate(), bundle("x"), "x"),
    (certificate(keyPath="x"), {}, "x"),
    (certificate(credentialBundlePath=None, keyPath="a", certificateChainPath="a"), {}, "a"),
    (certificate(), certificate(credentialBundlePath=None, certificateChainPath="x"), "x"),
]


@pytest.mark.parametrize(("first", "second", "value"), PATHS)
def test_each_path_of_a_projection_is_written_once(first: Any, second: Any, value: str) -> None:
    """The value of the error is the owner's name, or the path where no owner has one."""
    assert projected(first, second) == [TWICE]
    source = part(types.ProjectedVolumeSource, sources=[first, second])
    [error] = volume_files.validate_projected_volume_source(source, "v")
    assert error.value == value


def test_paths_of_tokens_may_be_repeated() -> None:
    token = {"serviceAccountToken": {"path": "a", "expirationSeconds": 600}}
    assert projected(token, token, {"secret": files("a")}) == []


def test_a_source_has_one_kind() -> None:
    both = {"secret": files("a"), "configMap": files("b")}
    assert projected({"secret": files("c")}, both) == [f"v.sources[1] Forbidden {ONE}"]
    kinds: list[dict[str, Any]] = [
        {"downwardAPI": {}},
        {"serviceAccountToken": {"path": "t", "expirationSeconds": 600}},
        bundle("b"),
        certificate(),
    ]
    for kind in kinds:
        assert projected(kind) == []
        assert projected({**kind, "secret": {"name": "n"}}) == [f"v.sources[0] Forbidden {ONE}"]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (None, "may not specify a duration less than 10 minutes"),
        (599, "may not specify a duration less than 10 minutes"),
        (600, ""),
        (2**32, ""),
        (2**32 + 1, "may not specify a duration larger than 2^32 seconds"),
    ],
)
def test_the_life_of_a_token(seconds: int | None, expected: str) -> None:
    at = "v.sources[0].serviceAccountToken.expirationSeconds"
    found = projected({"serviceAccountToken": {"path": "a", "expirationSeconds": seconds}})
    assert found == ([f"{at} Invalid {expected}"] if expected else [])


def test_the_path_of_a_token() -> None:
    """The error is at the volume, not at the source."""
    for path, expected in (("", ["v.path Required"]), ("..a", [f"v.path Invalid {RESERVED}"]), ("a", [])):
        assert projected({"serviceAccountToken": {"path": path, "expirationSeconds": 600}}) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"name": "a.b"}, []),
        ({"name": "example.com:signer:a"}, []),
        ({"signerName": "example.com/signer"}, []),
        ({"signerName": "example.com/signer", "labelSelector": {"matchLabels": {"a": "b"}}}, []),
        ({}, [" Required either name or signerName must be specified"]),
        (
            {"name": "a", "signerName": "example.com/signer"},
            [" Invalid only one of name and signerName may be used"],
        ),
        (
            {"name": ""},
            [
                ".name Required must be a valid object name",
                f".name Invalid not a valid clustertrustbundlename: {SUBDOMAIN_TEXT}",
            ],
        ),
        ({"name": "A"}, [f".name Invalid not a valid clustertrustbundlename: {SUBDOMAIN_TEXT}"]),
        (
            {"name": "a", "labelSelector": {}},
            [".labelSelector Invalid labelSelector must be unset if name is specified"],
        ),
        ({"signerName": ""}, [".signerName Required must be a valid signer name", ".signerName Required"]),
        (
            {"signerName": "signer", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "x"}]}},
            [
                ".signerName Invalid must be a fully qualified domain and path of the form 'example.com/signer-name'",
                ".labelSelector.matchExpressions[0].operator Invalid not a valid selector operator",
            ],
        ),
        ({"name": "a", "path": ""}, [".path Required"]),
        ({"name": "a", "path": "..a"}, [f".path Invalid {RESERVED}"]),
    ],
)
def test_bundles_of_certificates(fields: dict[str, Any], expected: list[str]) -> None:
    at = "v.sources[0].clusterTrustBundle"
    found = projected({"clusterTrustBundle": {"path": "p", **fields}})
    assert found == [at + text for text in expected]


KEYS = 'supported values: "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"'


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        *[({"keyType": key}, []) for key in ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521")],
        ({"keyType": None}, [f".keyType NotSupported {KEYS}"]),
        ({"keyType": "RSA2048"}, [f".keyType NotSupported {KEYS}"]),
        ({"signerName": None}, [".signerName Required"]),
        ({"maxExpirationSeconds": 3600}, []),
        (
            {"maxExpirationSeconds": 3599},
            [".maxExpirationSeconds Invalid if provided, maxExpirationSeconds must be >= 3600"],
        ),
        ({"maxExpirationSeconds": 7862400}, []),
        (
            {"maxExpirationSeconds": 7862401},
            [".maxExpirationSeconds Invalid if provided, maxExpirationSeconds must be <= 7862400"],
        ),
        ({"signerName": "a.kubernetes.io/b", "maxExpirationSeconds": 86400}, []),
        (
            {"signerName": "a.kubernetes.io/b", "maxExpirationSeconds": 86401},
            [".maxExpirationSeconds Invalid if provided, maxExpirationSeconds must be <= 86400"],
        ),
        ({"userAnnotations": {"example.com/a": "b"}}, []),
        (
            {"userAnnotations": {"a": "b"}},
            ['.userAnnotations Invalid must be a domain-prefixed key (such as "acme.io/foo")'],
        ),
        (
            {"credentialBundlePath": None},
            [" Required specify at least one of credentialBundlePath, keyPath, and certificateChainPath"],
        ),
        ({"credentialBundlePath": None, "keyPath": "k"}, []),
        ({"credentialBundlePath": None, "certificateChainPath": "c"}, []),
        (
            {"credentialBundlePath": "/a", "keyPath": "..b", "certificateChainPath": "a/../c"},
            [
                f".credentialBundlePath Invalid {RELATIVE}",
                f".keyPath Invalid {RESERVED}",
                f".certificateChainPath Invalid {STEPS}",
            ],
        ),
        (
            {"signerName": "A.b/c", "keyType": "x", "userAnnotations": {"a": "b"}, "maxExpirationSeconds": 0},
            [
                f'.signerName Invalid validating label "A": {LABEL_TEXT}',
                '.userAnnotations Invalid must be a domain-prefixed key (such as "acme.io/foo")',
                f".keyType NotSupported {KEYS}",
                ".maxExpirationSeconds Invalid if provided, maxExpirationSeconds must be >= 3600",
            ],
        ),
    ],
)
def test_certificates_of_pods(fields: dict[str, Any], expected: list[str]) -> None:
    """91 days at most, one day for Kubernetes' own signers. Source: certificates.MaxMaxExpirationSeconds."""
    found = projected(certificate(**fields))
    assert found == [f"v.sources[0].podCertificate{text}" for text in expected]
