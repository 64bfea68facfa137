"""`kubectl --as`: a request is answered as another user's, where the one who asks may impersonate that user."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.apiserver.admission.authorization import RBACAuthorizer
from kitlib.apiserver.http.impersonation import acting_user
from kitlib.apiserver.http.status import StatusError
from kitlib.apiserver.http.users import ADMINISTRATOR, User

Headers = list[tuple[str, str]]
ACCOUNT = "system:serviceaccount:ns:web"


def role(name: str, resource: str, group: str = "", names: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    rule = {"apiGroups": [group], "resources": [resource], "verbs": ["impersonate"], "resourceNames": list(names)}
    version = "rbac.authorization.k8s.io/v1"
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "guest"}
    return [
        {"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule]},
        {
            "apiVersion": version,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": reference,
            "subjects": [subject],
        },
    ]


@pytest.mark.parametrize(
    ("headers", "name", "groups"),
    [
        ([], "kubernetes-admin", ADMINISTRATOR.groups),
        ([("Impersonate-User", "bob")], "bob", ("system:authenticated",)),
        (
            [("Impersonate-User", "bob"), ("Impersonate-Group", "dev"), ("Impersonate-Group", "ops")],
            "bob",
            ("dev", "ops", "system:authenticated"),
        ),
        (
            [("Impersonate-User", ACCOUNT)],
            ACCOUNT,
            ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"),
        ),
        ([("Impersonate-User", "system:anonymous")], "system:anonymous", ("system:unauthenticated",)),
    ],
    ids=["nobody", "a user", "a user in groups", "a service account", "nobody known"],
)
def test_the_administrator_may_act_as_any_user(cluster: Any, headers: Headers, name: str, groups: Any) -> None:
    found = acting_user(ADMINISTRATOR, headers, RBACAuthorizer(cluster.api.store))
    assert (found.name, found.groups) == (name, groups)
    assert found.impersonated_by == ("kubernetes-admin" if headers else "")


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ([("Impersonate-User", "bob")], 'users "bob" is forbidden: User "guest" cannot impersonate resource "users"'),
        ([("Impersonate-User", "ann"), ("Impersonate-Group", "ops")], 'groups "ops" is forbidden'),
        ([("Impersonate-User", ACCOUNT)], 'serviceaccounts "web" is forbidden: .* in the namespace "ns"'),
        ([("Impersonate-User", "ann"), ("Impersonate-Uid", "1")], 'uids.authentication.k8s.io "1" is forbidden'),
        ([("Impersonate-User", "ann"), ("Impersonate-Extra-a%2Fb", "1")], 'resource "userextras/a/b"'),
        ([("Impersonate-Group", "ops")], "without impersonating a user"),
    ],
    ids=["another user", "another group", "a service account", "a UID", "an extra field", "no user"],
)
def test_others_may_be_whom_their_roles_name(cluster: Any, headers: Headers, words: str) -> None:
    cluster.apply(role("as-ann", "users", names=("ann",)) + role("as-dev", "groups", names=("dev",)))
    authorizer, guest = RBACAuthorizer(cluster.api.store), User("guest")
    with pytest.raises(StatusError, match=words):
        acting_user(guest, headers, authorizer)
    found = acting_user(guest, [("Impersonate-User", "ann"), ("Impersonate-Group", "dev")], authorizer)
    assert (found.name, found.groups, found.impersonated_by) == ("ann", ("dev", "system:authenticated"), "guest")
