"""Out of a pod: more than 200 ways, tried by two users in a pod of a real node; each is refused, by whom is printed."""

from __future__ import annotations

import pytest

from kitlib.cluster.control_plane.docker import DockerCluster
from tests.engine.escapes import refused


@pytest.mark.parametrize("user", [1000, 65534])
def test_every_way_out_of_a_pod_is_refused(
    shared: DockerCluster, user: int, capsys: pytest.CaptureFixture[str]
) -> None:
    counted = refused(shared, user)
    with capsys.disabled():
        print(f"\n{sum(counted.values())} probes as user {user}: {dict(counted)}")


def test_what_a_pod_asks_for_in_vain_is_said_in_an_event(shared: DockerCluster) -> None:
    container = {"name": "c", "image": "x", "securityContext": {"privileged": True}}
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "asks"}, "spec": {"containers": [container]}}
    shared.apply(manifest)
    shared.wait(lambda c: any("privileged: true is not granted" in e.message for e in c.events("asks")), 20)
    shared.delete("Pod", "asks", grace=0)
