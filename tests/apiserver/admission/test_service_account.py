"""Pods of a served cluster run as service accounts; the files that they get follow from it."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api import service_account_token
from kitlib.api.errors import Forbidden
from kitlib.api.serialize import to_dict
from kitlib.apiserver.admission.service_account import MOUNT_PATH
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster

KEY = b"k" * 32
PEM = "-----BEGIN CERTIFICATE-----"


@pytest.fixture
def cluster() -> Any:
    with Cluster.simulated(1) as made:
        made.api.enable_service_accounts(KEY.hex(), PEM)
        made.settle()
        yield made


def pod(name: str = "a", namespace: str = "default", **spec: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "x"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def account(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}, **more}


def files(cluster: SimulatedCluster, name: str = "a") -> dict[str, bytes]:
    found = cluster.node().volume_files(name)
    return {path.removeprefix(f"{MOUNT_PATH}/"): file.data for path, file in found.items()}


def test_a_pod_gets_token_certificate_and_namespace(cluster: Any) -> None:
    cluster.apply(pod())
    found = files(cluster)
    assert (found["namespace"], found["ca.crt"]) == (b"default", PEM.encode())
    made = cluster.pod("a")
    (volume,) = made.spec.volumes
    assert volume.name.startswith("kube-api-access-") and made.spec.service_account_name == "default"
    claims = service_account_token.verify(KEY, found["token"].decode(), cluster.now())
    assert claims is not None
    assert claims.subject[:2] == ("default", "default")
    assert claims.subject.pod == ("a", made.metadata.uid)


def test_every_container_mounts_it_but_one_that_mounts_something_else_there(cluster: Any) -> None:
    own = {"name": "own", "mountPath": MOUNT_PATH}
    mains = [{"name": "c", "image": "x"}, {"name": "d", "image": "x", "volumeMounts": [own]}]
    inits = [{"name": "i", "image": "x"}]
    cluster.apply(pod(containers=mains, initContainers=inits, volumes=[{"name": "own", "emptyDir": {}}]))
    spec = cluster.pod("a").spec
    names = [[mount.name for mount in c.volume_mounts] for c in (*spec.containers, *spec.init_containers)]
    made = spec.volumes[-1].name
    assert names == [[made], ["own"], [made]]


@pytest.mark.parametrize(
    ("of_pod", "of_account", "mounted"),
    [(None, None, True), (False, None, False), (None, False, False), (True, False, True), (False, True, False)],
)
def test_the_pod_declines_before_its_account_does(
    cluster: Any, of_pod: bool | None, of_account: bool | None, mounted: bool
) -> None:
    cluster.apply(account("bot", **({} if of_account is None else {"automountServiceAccountToken": of_account})))
    own = {} if of_pod is None else {"automountServiceAccountToken": of_pod}
    cluster.apply(pod(serviceAccountName="bot", **own))
    assert bool(cluster.pod("a").spec.volumes) is mounted


def test_pull_secrets_of_the_account_are_taken_over(cluster: Any) -> None:
    cluster.apply(account("bot", imagePullSecrets=[{"name": "s"}]))
    cluster.apply(pod(serviceAccountName="bot"))
    assert [one.name for one in cluster.pod("a").spec.image_pull_secrets] == ["s"]


def test_a_missing_account_is_refused_in_the_servers_words(cluster: Any) -> None:
    with pytest.raises(Forbidden) as caught:
        cluster.apply(pod(serviceAccountName="bot"))
    assert 'error looking up service account default/bot: serviceaccount "bot" not found' in str(caught.value)
    assert not cluster.pods()


def test_a_new_namespace_gets_the_certificate_and_one_that_was_removed_comes_back(cluster: Any) -> None:
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    cluster.apply(pod("b", "n"))
    assert cluster.pod("b", "n").status.phase == "Running"
    cluster.delete("configmap", "kube-root-ca.crt", "n")
    cluster.settle()
    found = next(one for one in cluster.list("configmaps", namespace="n") if one.name == "kube-root-ca.crt")
    assert to_dict(found)["data"] == {"ca.crt": PEM}


def test_a_token_is_renewed_when_four_fifths_of_its_life_have_passed(cluster: Any) -> None:
    source = {"serviceAccountToken": {"path": "t", "expirationSeconds": 600, "audience": "vault"}}
    volume = {"name": "v", "projected": {"sources": [source]}}
    mount = {"name": "v", "mountPath": "/v"}
    containers = [{"name": "c", "image": "x", "volumeMounts": [mount]}]
    cluster.apply(pod(containers=containers, volumes=[volume], automountServiceAccountToken=False))

    def token() -> bytes:
        return cluster.node().volume_files("a")["/v/t"].data  # type: ignore[no-any-return]

    first = token()
    claims = service_account_token.verify(KEY, first.decode(), cluster.now())
    assert claims is not None and claims.audiences == ("vault",)
    cluster.advance(400)
    assert token() == first
    cluster.advance(200)
    assert token() != first


def test_pods_of_a_cluster_that_is_not_served_are_as_their_manifests_say() -> None:
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod())
        assert cluster.pod("a").spec.volumes == []
        assert cluster.pod("a").spec.service_account_name == ""
