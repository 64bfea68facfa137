"""Secrets that hold the tokens of service accounts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kitlib.api import service_account_token
from kitlib.apiserver.http.users import Users
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from tests.controllers.builders import hollow

KEY, PEM = b"k" * 32, "-----BEGIN CERTIFICATE-----"
ACCOUNT = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bot"}}


def secret(account: str = "bot", **annotations: str) -> dict[str, Any]:
    known = {"kubernetes.io/service-account.name": account}
    meta = {"name": "bot-token", "annotations": {**known, **annotations}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "kubernetes.io/service-account-token"}


@pytest.fixture
def cluster() -> SimulatedCluster:
    made = hollow(1)
    made.apply([ACCOUNT])
    return made


def test_a_secret_gets_a_token_that_is_believed_until_the_secret_goes(cluster: SimulatedCluster) -> None:
    cluster.apply([secret()])
    assert cluster.get("Secret", "bot-token").data == {}, "nobody could use a token"
    cluster.api.enable_service_accounts(KEY.hex(), PEM)
    cluster.settle()
    found = cluster.get("Secret", "bot-token")
    uid = cluster.get("ServiceAccount", "bot").metadata.uid
    assert found.metadata.annotations["kubernetes.io/service-account.uid"] == uid
    assert (found.data["ca.crt"], found.data["namespace"]) == (PEM.encode(), b"default")
    token = found.data["token"].decode()
    claims = service_account_token.verify(KEY, token, datetime.now(UTC))
    assert claims is not None and claims.subject[:3] == ("default", "bot", uid)

    def exists(kind: str, namespace: str, name: str, known: str) -> bool:
        one = cluster.api.store.find(kind, name, namespace)
        return one is not None and known in (one.metadata.uid, getattr(one, "data", {}).get("token", b"").decode())

    users = Users(exists)
    users.key = KEY
    found = users.of_token(token)
    assert found is not None and found.user.name == "system:serviceaccount:default:bot"
    cluster.patch("Secret", "bot-token", {"data": {"token": None}})
    assert cluster.get("Secret", "bot-token").data["token"].decode() == token, "it is put back"
    cluster.delete("Secret", "bot-token")
    assert users.of_token(token) is None


@pytest.mark.parametrize("given", [secret("nobody"), secret(**{"kubernetes.io/service-account.uid": "another"})])
def test_a_secret_of_an_account_that_is_not_there_is_deleted(cluster: SimulatedCluster, given: dict[str, Any]) -> None:
    """The rule of syncSecret."""
    cluster.apply([given])
    assert cluster.list("Secret") == []


def test_the_secrets_of_an_account_go_with_it(cluster: SimulatedCluster) -> None:
    cluster.apply([secret(), {**secret(), "metadata": {"name": "plain"}, "type": "Opaque"}])
    cluster.delete("ServiceAccount", "bot")
    assert [one.name for one in cluster.list("Secret")] == ["plain"]
