"""Users, their tokens and their rights: roles and bindings are obeyed, reviews tell, what clients did is noted."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import pytest

from kitlib.api.authorization import Attributes
from kitlib.api.rbac import PolicyRule
from kitlib.apiserver.admission.authorization import rule_allows
from kitlib.apiserver.http.dispatcher import Dispatcher, Response
from kitlib.apiserver.http.rbac import VIEW, VIEW_BINDING
from kitlib.apiserver.http.request import Request
from kitlib.apiserver.http.status import StatusError
from kitlib.apiserver.http.users import AUTHENTICATED, User, Users
from kitlib.cluster import Cluster

POD = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "x"}]}}


@pytest.mark.parametrize(
    ("rule", "about", "allowed"),
    [
        ({"verbs": ["get"], "resources": ["pods"]}, ("get", "", "pods"), True),
        ({"verbs": ["get"], "resources": ["pods"]}, ("list", "", "pods"), False),
        ({"verbs": ["get"], "resources": ["pods"]}, ("get", "", "pods", "log"), False),
        ({"verbs": ["*"], "resources": ["pods/log"]}, ("get", "", "pods", "log"), True),
        ({"verbs": ["*"], "resources": ["*/scale"]}, ("update", "", "deployments", "scale"), True),
        ({"verbs": ["*"], "resources": ["*"]}, ("create", "", "pods", "exec"), True),
        ({"verbs": ["get"], "resources": ["pods"], "names": ["a"]}, ("get", "", "pods", "", "ns", "b"), False),
        ({"verbs": ["get"], "resources": ["pods"], "names": ["a"]}, ("get", "", "pods", "", "ns", "a"), True),
        ({"verbs": ["get"], "resources": ["pods"], "groups": ["apps"]}, ("get", "", "pods"), False),
    ],
)
def test_a_rule_covers_what_it_names(rule: dict[str, Any], about: tuple[str, ...], allowed: bool) -> None:
    made = PolicyRule(
        verbs=rule["verbs"],
        resources=rule["resources"],
        resource_names=rule.get("names", []),
        api_groups=rule.get("groups", [""]),
    )
    assert rule_allows(made, Attributes(*about)) is allowed


def ask(dispatcher: Dispatcher, user: User, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    raw = b"" if body is None else json.dumps(body).encode()
    answer = dispatcher.handle(Request(method, path, {}, {"user-agent": "kubectl/v1"}, raw, user))
    assert isinstance(answer, Response)
    return answer.code, json.loads(answer.body)


def test_a_viewer_reads_and_does_not_write(cluster: Any) -> None:
    dispatcher, viewer = Dispatcher(cluster), User("viewer")
    pods = "/api/v1/namespaces/default/pods"
    assert ask(dispatcher, viewer, "GET", pods)[0] == 403
    for one in (VIEW, VIEW_BINDING):
        cluster.apply(one)
    assert ask(dispatcher, viewer, "GET", pods)[0] == 200
    code, body = ask(dispatcher, viewer, "POST", pods, POD)
    assert code == 403 and body["reason"] == "Forbidden"
    wanted = 'pods is forbidden: User "viewer" cannot create resource "pods" in API group "" in the namespace "default"'
    assert body["message"] == wanted
    assert ask(dispatcher, viewer, "GET", "/api/v1/namespaces/default/secrets")[0] == 403
    assert ask(dispatcher, viewer, "GET", "/apis")[0] == 200
    assert cluster.list("pods") == []


def test_reviews_tell_what_a_user_may_do(cluster: Any) -> None:
    dispatcher, viewer = Dispatcher(cluster), User("viewer")
    for one in (VIEW, VIEW_BINDING):
        cluster.apply(one)
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    for verb, allowed in (("list", True), ("delete", False)):
        about = {"verb": verb, "resource": "pods", "namespace": "default"}
        code, body = ask(dispatcher, viewer, "POST", path, {"spec": {"resourceAttributes": about}})
        assert (code, body["status"]["allowed"]) == (201, allowed)
    whoami = ask(dispatcher, viewer, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})[1]
    assert whoami["status"]["userInfo"] == {"username": "viewer", "groups": [AUTHENTICATED]}
    rules = ask(dispatcher, viewer, "POST", path.replace("access", "rules"), {"spec": {"namespace": "default"}})[1]
    assert rules["status"]["resourceRules"][0]["verbs"] == ["get", "list", "watch"]


def test_a_service_accounts_token_is_its_user(cluster: Any) -> None:
    users = Users(
        lambda kind, namespace, name, uid: (kind, namespace, name) == ("ServiceAccount", "default", "default")
    )
    dispatcher = Dispatcher(cluster, users=users)
    admin = users.of_header(f"Bearer {users.add(User('a', ('system:masters',)))}")
    assert admin is not None
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    code, body = ask(dispatcher, admin, "POST", path, {"spec": {"expirationSeconds": 700}})
    assert (code, body["spec"]["expirationSeconds"]) == (201, 700)
    found = users.of_header(f"Bearer {body['status']['token']}")
    assert found is not None and found.name == "system:serviceaccount:default:default"
    review = {"spec": {"token": body["status"]["token"]}}
    told = ask(dispatcher, admin, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)[1]
    assert told["status"]["authenticated"] is True and told["status"]["user"]["username"] == found.name
    assert ask(dispatcher, found, "GET", "/api/v1/pods")[0] == 403


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Bearer wrong", "Basic abc", "Bearer \udcff"])
def test_another_token_is_nobodys(header: str) -> None:
    users = Users()
    users.add(User("a"))
    assert users.of_header(header) is None


def test_a_token_ends_with_its_time() -> None:
    users = Users()
    assert users.of_token(users.add(User("a"), seconds=-1)) is None


def test_what_clients_did_is_noted_and_reads_are_not(cluster: Any) -> None:
    dispatcher, admin = Dispatcher(cluster), User("kubernetes-admin", ("system:masters",))
    pods = "/api/v1/namespaces/default/pods"
    ask(dispatcher, admin, "POST", pods, {**POD, "metadata": {"generateName": "web-"}})
    ask(dispatcher, admin, "GET", pods)
    ask(dispatcher, admin, "DELETE", f"{pods}/none")
    created, deleted = dispatcher.audit
    assert (created.verb, created.resource, created.code, created.agent) == ("create", "pods", 201, "kubectl")
    assert created.name.startswith("web-")
    assert str(deleted).endswith("kubernetes-admin (kubectl): delete pods default/none: 404")


def test_create_by_resource_names_grants_nothing(cluster: Any) -> None:
    """Source: installer.go: POST is registered at the list, whose requests have no name that a rule could match."""
    dispatcher, user = Dispatcher(cluster), User("maker")
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "one"}}
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"], "resourceNames": ["zzz"]}
    cluster.apply({**role, "rules": [rule]})
    subjects = [{"kind": "User", "name": "maker", "apiGroup": "rbac.authorization.k8s.io"}]
    reference = {"kind": "ClusterRole", "name": "one", "apiGroup": "rbac.authorization.k8s.io"}
    cluster.apply({**role, "kind": "ClusterRoleBinding", "subjects": subjects, "roleRef": reference})
    path, body = "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "other"}}
    assert ask(dispatcher, user, "POST", path, body)[0] == 403
    code, refused = ask(dispatcher, user, "POST", f"{path}/zzz", body)
    assert (code, refused["reason"]) == (405, "MethodNotAllowed")
    assert "other" not in [one.name for one in cluster.list("configmaps")]


@pytest.mark.parametrize(("release", "allowed"), [("1.34", True), ("1.35", False), ("1.36", False)])
def test_a_stream_by_websocket_needs_create(release: str, allowed: bool) -> None:
    """Source: AuthorizePodWebsocketUpgradeCreatePermission, enabled since 1.35."""
    with Cluster.simulated(1, release=release) as cluster:
        dispatcher, path = Dispatcher(cluster), "/api/v1/namespaces/default/pods/web/exec"
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "one"}}
        reference = {"kind": "ClusterRole", "name": "one", "apiGroup": "rbac.authorization.k8s.io"}
        subjects = [{"kind": "User", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}]
        rule = {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get"]}
        cluster.apply({**role, "rules": [rule]})
        cluster.apply({**role, "kind": "ClusterRoleBinding", "subjects": subjects, "roleRef": reference})
        with nullcontext() if allowed else pytest.raises(StatusError, match='cannot create resource "pods/exec"'):
            dispatcher.authorize_stream(User("reader"), path, "GET")
        rule["verbs"] = ["get", "create"]
        cluster.apply({**role, "rules": [rule]})
        dispatcher.authorize_stream(User("reader"), path, "GET")
