"""Reviews: what a user may do, which rules apply, who a token is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kitlib.api.rbac import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from kitlib.apiserver.admission.authorization import RBACAuthorizer
from kitlib.apiserver.http import reviews
from kitlib.apiserver.http.request import Request, Target
from kitlib.apiserver.http.status import StatusError
from kitlib.apiserver.http.users import ADMINISTRATOR, AUDIENCES, User, Users
from kitlib.apiserver.store.store import Store
from tests.apiserver.validation.told import named

ACCESS, AUTHENTICATION = "authorization.k8s.io", "authentication.k8s.io"
ADA, EVE = User("ada", ("developers",), "7", extra=(("scopes", ("a", "b")),)), User("eve", ())
PODS = {"apiGroups": [""], "resources": ["pods", "pods/log"], "resourceNames": ["web"], "verbs": ["get"]}
PATHS = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
JOBS = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create"]}


@pytest.fixture(scope="module")
def authorizer() -> RBACAuthorizer:
    """Developers read the pod `web` and /metrics everywhere, ada creates Jobs in `n`."""
    store, group = Store(), {"apiGroup": "rbac.authorization.k8s.io"}
    developers = {**group, "kind": "Group", "name": "developers"}
    everywhere = {**group, "kind": "ClusterRole", "name": "reader"}
    ada, here = {**group, "kind": "User", "name": "ada"}, {**group, "kind": "Role", "name": "jobs"}
    for made in (
        named(ClusterRole, "reader", rules=[PODS, PATHS]),
        named(ClusterRoleBinding, "all", subjects=[developers], roleRef=everywhere),
        named(Role, "jobs", "n", rules=[JOBS]),
        named(RoleBinding, "some", "n", subjects=[ada], roleRef=here),
    ):
        store.create(made)
    return RBACAuthorizer(store)


def asked(
    authorizer: RBACAuthorizer,
    group: str,
    plural: str,
    spec: Any = None,
    *,
    user: User = ADA,
    namespace: str = "",
    method: str = "POST",
    users: Users | None = None,
) -> dict[str, Any] | None:
    body = json.dumps({} if spec is None else {"spec": spec}).encode()
    target = Target(group, "v1", namespace, plural, "", "")
    request = Request(method, "/", {}, {"content-type": "application/json"}, body, user)
    return reviews.answer(target, request, authorizer, users or Users())


def status(*args: Any, **more: Any) -> Any:
    found = asked(*args, **more)
    assert found is not None
    return found["status"]


def test_an_answer_is_the_review_with_a_status(authorizer: RBACAuthorizer) -> None:
    spec = {"resourceAttributes": {"verb": "get", "resource": "pods", "name": "web", "namespace": "n"}}
    found = asked(authorizer, ACCESS, "selfsubjectaccessreviews", spec)
    assert found is not None and found.pop("status")["allowed"] is True
    versions = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1"}
    assert found == {**versions, "metadata": {}, "spec": spec}


def test_other_paths_and_methods(authorizer: RBACAuthorizer) -> None:
    assert asked(authorizer, ACCESS, "tokenreviews") is None, "of the other group"
    assert asked(authorizer, "", "selfsubjectaccessreviews") is None
    assert asked(authorizer, ACCESS, "pods", method="GET") is None
    for method in ("GET", "PUT", "DELETE"):
        with pytest.raises(StatusError) as raised:
            asked(authorizer, ACCESS, "selfsubjectaccessreviews", method=method)
        assert (raised.value.code, raised.value.reason) == (405, "MethodNotAllowed")
        assert raised.value.message == "the server does not allow this method on the requested resource"


@pytest.mark.parametrize(
    ("about", "user", "allowed"),
    [
        ({"verb": "get", "resource": "pods", "name": "web"}, ADA, True),
        ({"verb": "get", "resource": "pods", "subresource": "log", "name": "web"}, ADA, True),
        ({"verb": "get", "resource": "pods", "subresource": "exec", "name": "web"}, ADA, False),
        ({"verb": "get", "resource": "pods", "name": "other"}, ADA, False),
        ({"verb": "get", "resource": "pods", "name": "web", "group": "apps"}, ADA, False),
        ({"verb": "list", "resource": "pods", "name": "web"}, ADA, False),
        ({"verb": "get", "resource": "pods", "name": "web"}, EVE, False),
        ({"verb": "create", "group": "batch", "resource": "jobs", "namespace": "n"}, ADA, True),
        ({"verb": "create", "group": "batch", "resource": "jobs", "namespace": "m"}, ADA, False),
        ({"verb": "create", "group": "batch", "resource": "jobs"}, ADA, False),
        ({"verb": "x", "resource": "y"}, ADMINISTRATOR, True),
    ],
)
def test_access_to_a_resource(authorizer: RBACAuthorizer, about: Any, user: User, allowed: bool) -> None:
    spec = {"resourceAttributes": about}
    assert status(authorizer, ACCESS, "selfsubjectaccessreviews", spec, user=user)["allowed"] is allowed


def test_access_of_another_user(authorizer: RBACAuthorizer) -> None:
    """A SubjectAccessReview is about its `user` and `groups`, not about the user who asks."""
    about = {"resourceAttributes": {"verb": "get", "resource": "pods", "name": "web"}}
    for spec, allowed in (
        ({"user": "ada"}, False),
        ({"user": "eve", "groups": ["developers"]}, True),
        ({"groups": ["testers", "developers"]}, True),
        ({"groups": ["testers"]}, False),
    ):
        found = status(authorizer, ACCESS, "subjectaccessreviews", {**spec, **about}, user=ADMINISTRATOR)
        assert found["allowed"] is allowed


def test_access_in_the_namespace_of_the_path(authorizer: RBACAuthorizer) -> None:
    spec = {"user": "ada", "resourceAttributes": {"verb": "create", "group": "batch", "resource": "jobs"}}
    for namespace, allowed in (("n", True), ("m", False)):
        found = status(authorizer, ACCESS, "localsubjectaccessreviews", spec, user=EVE, namespace=namespace)
        assert found["allowed"] is allowed


@pytest.mark.parametrize(
    ("about", "user", "allowed"),
    [
        ({"verb": "get", "path": "/metrics"}, ADA, True),
        ({"verb": "post", "path": "/metrics"}, ADA, False),
        ({"verb": "get", "path": "/metrics"}, EVE, False),
        ({"verb": "get", "path": "/metrics/a"}, ADA, False),
        ({"verb": "get", "path": "/healthz"}, EVE, True),
    ],
)
def test_access_to_a_path(authorizer: RBACAuthorizer, about: Any, user: User, allowed: bool) -> None:
    spec = {"nonResourceAttributes": about}
    assert status(authorizer, ACCESS, "selfsubjectaccessreviews", spec, user=user)["allowed"] is allowed


def test_rules_of_a_user(authorizer: RBACAuthorizer) -> None:
    """Rules for the whole cluster come first, those of resources and of paths apart."""

    def rules(namespace: str, user: User) -> Any:
        return status(authorizer, ACCESS, "selfsubjectrulesreviews", {"namespace": namespace}, user=user)

    assert rules("n", ADA) == {"resourceRules": [PODS, JOBS], "nonResourceRules": [PATHS], "incomplete": False}
    assert rules("m", ADA) == {"resourceRules": [PODS], "nonResourceRules": [PATHS], "incomplete": False}
    assert rules("n", EVE) == {"resourceRules": [], "nonResourceRules": [], "incomplete": False}
    assert rules("n", ADMINISTRATOR) == {
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": False,
    }


def test_who_asks(authorizer: RBACAuthorizer) -> None:
    """Empty attributes are left out. Source: authentication/v1 UserInfo."""
    info = {"username": "ada", "groups": ["developers"], "uid": "7", "extra": {"scopes": ["a", "b"]}}
    assert status(authorizer, AUTHENTICATION, "selfsubjectreviews") == {"userInfo": info}
    found = status(authorizer, AUTHENTICATION, "selfsubjectreviews", user=User("bob", ("testers", "a")))
    assert found == {"userInfo": {"username": "bob", "groups": ["testers", "a"]}}


def test_tokens(authorizer: RBACAuthorizer) -> None:
    """Source: registry/authentication/tokenreview REST.Create."""
    users = Users()
    users.add(User("bob", ("testers",)), "secret")

    def review(spec: dict[str, Any]) -> Any:
        return status(authorizer, AUTHENTICATION, "tokenreviews", spec, users=users)

    bob = {"username": "bob", "groups": ["testers"]}
    assert review({"token": "secret"}) == {"authenticated": True, "user": bob, "audiences": list(AUDIENCES)}
    chosen = review({"token": "secret", "audiences": ["x", AUDIENCES[1]]})
    assert chosen == {"authenticated": True, "user": bob, "audiences": [AUDIENCES[1]]}
    for unknown in ({"token": "other"}, {"token": "secret", "audiences": ["x"]}):
        found = review(unknown)
        assert not found.pop("authenticated", False)
        assert found == {"error": "invalid bearer token"}
    for spec in ({}, {"token": ""}):
        with pytest.raises(StatusError) as raised:
            review(spec)
        assert (raised.value.code, raised.value.reason) == (400, "BadRequest")
        assert raised.value.message == "token is required for TokenReview in authentication"
