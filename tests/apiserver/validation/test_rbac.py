"""Roles and bindings."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.rbac import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from kitlib.apiserver.validation import rbac
from tests.apiserver.validation.told import named, told

GROUP = "rbac.authorization.k8s.io"
RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
AGGREGATED = "aggregationRule.clusterRoleSelectors"
URLS = {"verbs": ["get"], "nonResourceURLs": ["/x"]}


@pytest.mark.parametrize(
    ("rule", "of_cluster", "of_role"),
    [
        (RULE, [], []),
        ({**RULE, "verbs": []}, ["verbs Required verbs must contain at least one value"], None),
        ({**RULE, "apiGroups": []}, ["apiGroups Required resource rules must supply at least one api group"], None),
        ({**RULE, "resources": []}, ["resources Required resource rules must supply at least one resource"], None),
        (URLS, [], ["nonResourceURLs Invalid namespaced rules cannot apply to non-resource URLs"]),
        (
            {**URLS, "resourceNames": ["x"]},
            ["nonResourceURLs Invalid rules cannot apply to both regular resources and non-resource URLs"],
            [
                "nonResourceURLs Invalid namespaced rules cannot apply to non-resource URLs",
                "nonResourceURLs Invalid rules cannot apply to both regular resources and non-resource URLs",
            ],
        ),
    ],
)
def test_rules(rule: dict[str, Any], of_cluster: list[str], of_role: list[str] | None) -> None:
    """Source: ValidatePolicyRule."""
    cluster = named(ClusterRole, "A:b", rules=[RULE, rule])
    assert told(rbac.validate_role(cluster)) == [f"rules[1].{text}" for text in of_cluster]
    role = named(Role, "A:b", "n", rules=[RULE, rule])
    assert told(rbac.validate_role(role)) == [
        f"rules[1].{text}" for text in (of_cluster if of_role is None else of_role)
    ]


@pytest.mark.parametrize(
    ("selectors", "errors"),
    [
        ([{"matchLabels": {"a": "b"}}], []),
        (
            [],
            [
                "aggregationRule.clusterRoleSelectors Required at least one clusterRoleSelector required if "
                "aggregationRule is non-nil"
            ],
        ),
        (
            [{}, {"matchExpressions": [{"key": "a", "operator": "x"}]}],
            [f"{AGGREGATED}[1].matchExpressions[0].operator Invalid not a valid selector operator"],
        ),
    ],
)
def test_aggregation(selectors: list[Any], errors: list[str]) -> None:
    role = named(ClusterRole, aggregationRule={"clusterRoleSelectors": selectors})
    assert told(rbac.validate_role(role)) == errors


def test_names_are_segments_of_a_path_and_stay() -> None:
    assert told(rbac.validate_role(named(Role, "a/b", "n"))) == ["metadata.name Invalid may not contain '/'"]
    found = told(rbac.validate_role_update(named(Role, "a", "n"), named(Role, "b", "n")))
    assert found == ["metadata.name Invalid field is immutable"]


REF = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "r"}
USER = {"kind": "User", "name": "u", "apiGroup": GROUP}
ACCOUNT = {"kind": "ServiceAccount", "name": "s", "namespace": "n"}


@pytest.mark.parametrize(
    ("ref", "subject", "of_role", "of_cluster"),
    [
        (REF, USER, [], []),
        (REF, ACCOUNT, [], []),
        (REF, {**USER, "kind": "Group"}, [], []),
        ({**REF, "kind": "Role"}, USER, [], ['roleRef.kind NotSupported supported values: "ClusterRole"']),
        (
            {**REF, "kind": "x"},
            USER,
            ['roleRef.kind NotSupported supported values: "Role", "ClusterRole"'],
            ['roleRef.kind NotSupported supported values: "ClusterRole"'],
        ),
        ({**REF, "apiGroup": ""}, USER, [f'roleRef.apiGroup NotSupported supported values: "{GROUP}"'], None),
        ({**REF, "name": ""}, USER, ["roleRef.name Required"], None),
        ({**REF, "name": "."}, USER, ["roleRef.name Invalid may not be '.'"], None),
        (REF, {**ACCOUNT, "namespace": ""}, [], ["subjects[0].namespace Required"]),
        (REF, {**ACCOUNT, "apiGroup": "x"}, ['subjects[0].apiGroup NotSupported supported values: ""'], None),
        (REF, {**USER, "apiGroup": ""}, [f'subjects[0].apiGroup NotSupported supported values: "{GROUP}"'], None),
        (
            REF,
            {**USER, "name": ""},
            ["subjects[0].name Required", "subjects[0].name Invalid user name cannot be empty"],
            None,
        ),
        (REF, {**ACCOUNT, "name": ""}, ["subjects[0].name Required"], None),
        (
            REF,
            {"kind": "x", "name": "n"},
            ['subjects[0].kind NotSupported supported values: "ServiceAccount", "User", "Group"'],
            None,
        ),
    ],
)
def test_bindings(ref: Any, subject: Any, of_role: list[str], of_cluster: list[str] | None) -> None:
    """Source: ValidateRoleBinding, ValidateClusterRoleBinding, ValidateRoleBindingSubject."""
    binding = named(RoleBinding, "A", "n", roleRef=ref, subjects=[subject])
    assert told(rbac.validate_role_binding(binding)) == of_role
    cluster = named(ClusterRoleBinding, "A", roleRef=ref, subjects=[subject])
    assert told(rbac.validate_role_binding(cluster)) == (of_role if of_cluster is None else of_cluster)


def test_a_binding_keeps_its_role() -> None:
    old = named(RoleBinding, "a", "n", roleRef=REF)
    assert told(rbac.validate_role_binding_update(old, old)) == []
    new = named(RoleBinding, "a", "n", roleRef={**REF, "name": "q"})
    assert told(rbac.validate_role_binding_update(new, old)) == ["roleRef Invalid cannot change roleRef"]
