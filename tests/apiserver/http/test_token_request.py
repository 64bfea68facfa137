"""TokenRequests: bound objects, claims and refusals; the issuer's discovery, by HTTP requests."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from kitlib.api.release import Release
from kitlib.apiserver.http.dispatcher import Dispatcher, Response
from kitlib.apiserver.http.request import Request
from kitlib.apiserver.http.users import ADMINISTRATOR, User
from kitlib.cluster import Cluster

TOKEN = "/api/v1/namespaces/default/serviceaccounts/default/token"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
PREFIX = "authentication.kubernetes.io/"


@pytest.fixture
def dispatcher() -> Dispatcher:
    return served("1.36")


def served(release: str) -> Dispatcher:
    """A cluster with a pod on its node, a Secret and a second account."""
    cluster = Cluster.simulated(1, release=Release(release))
    made = Dispatcher(cluster, address="127.0.0.1:6443")
    cluster.api.enable_service_accounts(made.users.key.hex(), "-----BEGIN CERTIFICATE-----")
    made.users._exists = lambda kind, namespace, name, uid: (
        (found := cluster.api.store.find(kind, name, namespace)) is not None and found.metadata.uid == uid
    )
    cluster.settle()
    names = {"metadata": {"name": "web", "namespace": "default"}}
    pod = {"apiVersion": "v1", "kind": "Pod", **names, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    secret = {"apiVersion": "v1", "kind": "Secret", **names}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "other", "namespace": "default"}}
    cluster.apply([pod, secret, account])
    return made


def ask(dispatcher: Dispatcher, method: str, path: str, body: Any = None, user: User = ADMINISTRATOR) -> Any:
    answer = dispatcher.handle(Request(method, path, {}, {}, json.dumps(body).encode() if body else b"", user))
    assert isinstance(answer, Response)
    return answer.code, json.loads(answer.body)


def claims_of(token: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "==="))
    return found


def bound(kind: str, name: str, **more: str) -> dict[str, Any]:
    return {"spec": {"boundObjectRef": {"kind": kind, "apiVersion": "v1", "name": name, **more}}}


def uid(dispatcher: Dispatcher, kind: str, name: str) -> str:
    return str(dispatcher.cluster.get(kind, name).metadata.uid)


@pytest.mark.parametrize("kind", ["Pod", "Secret", "Node"])
def test_a_token_is_bound_to_an_object_and_ends_with_it(dispatcher: Dispatcher, kind: str) -> None:
    name = dispatcher.cluster.node().name if kind == "Node" else "web"
    code, made = ask(dispatcher, "POST", TOKEN, bound(kind, name, uid=uid(dispatcher, kind, name)))
    assert code == 201
    token = made["status"]["token"]
    claims = claims_of(token)["kubernetes.io"]
    assert claims[kind.lower()] == {"name": name, "uid": uid(dispatcher, kind, name)}
    assert ("node" in claims) is (kind != "Secret"), "a pod's token names the node"
    assert dispatcher.users.of_token(token) is not None
    dispatcher.cluster.delete(kind, name, *(() if kind == "Node" else ("default",)))
    dispatcher.cluster.settle()
    dispatcher.cluster.run_for(40)
    assert dispatcher.users.of_token(token) is None


def test_a_review_names_the_token_its_pod_and_its_node(dispatcher: Dispatcher) -> None:
    token = ask(dispatcher, "POST", TOKEN, bound("Pod", "web"))[1]["status"]["token"]
    status = ask(dispatcher, "POST", REVIEWS, {"spec": {"token": token}})[1]["status"]
    node = dispatcher.cluster.node().name
    assert status["user"]["extra"] == {
        f"{PREFIX}credential-id": [f"JTI={claims_of(token)['jti']}"],
        f"{PREFIX}pod-name": ["web"],
        f"{PREFIX}pod-uid": [uid(dispatcher, "Pod", "web")],
        f"{PREFIX}node-name": [node],
        f"{PREFIX}node-uid": [uid(dispatcher, "Node", node)],
    }
    assert status["audiences"] == ["https://kubernetes.default.svc.cluster.local"]
    again = ask(dispatcher, "POST", TOKEN, bound("Pod", "web"))[1]["status"]["token"]
    assert claims_of(again)["jti"] != claims_of(token)["jti"]


def test_a_policy_sees_the_pod_of_the_requests_token(dispatcher: Dispatcher) -> None:
    token = ask(dispatcher, "POST", TOKEN, bound("Pod", "web"))[1]["status"]["token"]
    user = dispatcher.users.of_header(f"Bearer {token}")
    assert user is not None
    who = ask(dispatcher, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {"spec": {}}, user)[1]
    assert who["status"]["userInfo"]["extra"][f"{PREFIX}pod-name"] == ["web"]
    assert user.requester().info["extra"][f"{PREFIX}pod-name"] == ["web"], "of which request.userInfo is made"


def test_a_token_for_another_audience_is_valid_for_that_one_only(dispatcher: Dispatcher) -> None:
    token = ask(dispatcher, "POST", TOKEN, {"spec": {"audiences": ["vault"]}})[1]["status"]["token"]
    assert dispatcher.users.of_header(f"Bearer {token}") is None
    found = [
        ask(dispatcher, "POST", REVIEWS, {"spec": {"token": token, "audiences": audiences}})[1]["status"]
        for audiences in (["vault", "x"], ["x"], [])
    ]
    assert [one["authenticated"] for one in found] == [True, False, False]
    assert found[0]["audiences"] == ["vault"]
    assert ask(dispatcher, "POST", REVIEWS, {"spec": {}})[0] == 400


REFUSALS: list[tuple[str, dict[str, Any], int, str]] = [
    ("another account's pod", bound("Pod", "web"), 400, "to pod running with different serviceaccount name."),
    ("an unknown object", bound("Secret", "none"), 404, 'secrets "none" not found'),
    ("another UID", bound("Secret", "web", uid="u"), 409, "does not match the UID in record."),
    ("another kind", bound("ConfigMap", "web"), 400, "cannot bind token to object of type /v1, Kind=ConfigMap"),
    ("a short life", {"spec": {"expirationSeconds": 599}}, 422, "may not specify a duration less than 10 minutes"),
    ("a long life", {"spec": {"expirationSeconds": 1 << 33}}, 422, "duration larger than 2^32 seconds"),
    ("another name", {"metadata": {"name": "x"}}, 422, "must match the service account name if specified"),
    ("another account", {"metadata": {"uid": "u"}}, 409, "does not match the UID of the service account"),
]


@pytest.mark.parametrize(("body", "code", "message"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS])
def test_a_request_is_refused(dispatcher: Dispatcher, body: dict[str, Any], code: int, message: str) -> None:
    path = TOKEN.replace("/default/token", "/other/token")
    found, status = ask(dispatcher, "POST", path, body)
    assert found == code and message in status["message"]


def test_older_releases_have_neither_identifier_nor_node() -> None:
    dispatcher = served("1.28")
    claims = claims_of(ask(dispatcher, "POST", TOKEN, bound("Pod", "web"))[1]["status"]["token"])
    assert "jti" not in claims and "node" not in claims["kubernetes.io"]
    code, status = ask(dispatcher, "POST", TOKEN, bound("Node", dispatcher.cluster.node().name))
    assert code == 400 and "ServiceAccountTokenNodeBinding" in status["message"]


def test_service_accounts_may_read_the_issuers_key(dispatcher: Dispatcher) -> None:
    token = ask(dispatcher, "POST", TOKEN, {"spec": {}})[1]["status"]["token"]
    user = dispatcher.users.of_header(f"Bearer {token}")
    assert user is not None
    code, found = ask(dispatcher, "GET", "/.well-known/openid-configuration", user=user)
    assert (code, found["issuer"]) == (200, claims_of(token)["iss"])
    assert found["jwks_uri"] == "https://127.0.0.1:6443/openid/v1/jwks"
    (key,) = ask(dispatcher, "GET", "/openid/v1/jwks", user=user)[1]["keys"]
    header = json.loads(base64.urlsafe_b64decode(token.split(".")[0] + "==="))
    assert (header["kid"], header["alg"]) == (key["kid"], key["alg"])
    assert "d" not in key, "the private part stays here"
    assert ask(dispatcher, "GET", "/openid/v1/jwks", user=User("viewer"))[0] == 403
