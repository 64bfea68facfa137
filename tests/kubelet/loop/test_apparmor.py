"""Pods with AppArmor profiles on machines with and without AppArmor."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster

DEFAULT, FREE = {"appArmorProfile": {"type": "RuntimeDefault"}}, {"appArmorProfile": {"type": "Unconfined"}}


def pod(whole: Any = None, own: Any = None) -> dict[str, Any]:
    container = {"name": "c", "image": "app", **({"securityContext": own} if own else {})}
    spec = {"containers": [container], **({"securityContext": whole} if whole else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


@pytest.mark.parametrize(
    ("whole", "own", "refused"),
    [(None, None, False), (DEFAULT, None, True), (None, DEFAULT, True), (FREE, FREE, False), (FREE, DEFAULT, True)],
    ids=["no profile", "of the pod", "of a container", "unconfined", "one container confined"],
)
def test_a_machine_without_apparmor_refuses_profiles(whole: Any, own: Any, refused: bool) -> None:
    with Cluster.simulated([{"name": "n", "apparmor": False}]) as cluster:
        cluster.apply(pod(whole, own))
        cluster.advance(2)
        status = cluster.pod("p").status
        expected = (
            "Failed",
            "AppArmor",
            "Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host",
        )
        assert ((status.phase, status.reason, status.message) == expected) == refused
        assert refused or status.phase == "Running"


def test_a_machine_with_apparmor_takes_them() -> None:
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod(DEFAULT))
        cluster.advance(2)
        assert cluster.pod("p").status.phase == "Running"
