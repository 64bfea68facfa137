"""Pods of a real node have network namespaces and addresses of their own, as a kubelet's sandboxes."""

from __future__ import annotations

from typing import Any

from kitlib.cluster.control_plane.docker import DockerCluster
from tests.engine.helpers import SLOW

FETCH = "python3 -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=5).read().decode())' "
COUNT = "python3 -c 'import socket; print(sum(n.startswith(\"veth\") for _, n in socket.if_nameindex()))'"


def server(name: str, port: int = 80, **spec: Any) -> dict[str, Any]:
    """A pod that serves its name and its address."""
    container = {
        "name": "main",
        "image": "x",
        "command": ["sh", "-c", f"cd /tmp; echo {name} $IP > name; exec python3 -m http.server {port}"],
        "env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "readinessProbe": {"httpGet": {"port": port, "path": "/name"}, "periodSeconds": 1, "failureThreshold": 1000},
    }
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def ready(cluster: DockerCluster, *names: str) -> bool:
    return all(
        any((one.type, one.status) == ("Ready", "True") for one in cluster.pod(name).status.conditions)
        for name in names
    )


def said(cluster: DockerCluster, name: str, command: str, **spec: Any) -> str:
    """Return the last line that the command of a new pod prints."""
    container = {"name": "main", "image": "x", "command": ["sh", "-c", f"{command} 2>&1 | tail -1"]}
    spec = {"containers": [container], "restartPolicy": "Never", **spec}
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
    cluster.wait(lambda c: c.pod(name).status.phase == "Succeeded", 60 * SLOW)
    return cluster.node().logs(name).strip()


def test_pods_on_the_same_port_are_ready_at_addresses_of_their_own(shared: DockerCluster) -> None:
    node = shared.get("Node", "node-1")
    host = next(one["address"] for one in node.status.addresses if one["type"] == "InternalIP")
    for pod in (server("a"), server("b"), server("c", port=81), server("h", hostNetwork=True)):
        shared.apply(pod)
    shared.wait(lambda c: ready(c, "a", "b", "c", "h"), 90 * SLOW)
    status = {name: shared.pod(name).status for name in "abch"}
    own = [status[name].pod_ip for name in "abc"]
    assert len(set(own)) == 3 and all(ip.startswith(node.spec.pod_cidr.rpartition(".")[0]) for ip in own)
    assert status["h"].pod_ip == host
    assert {one.host_ip for one in status.values()} == {host}
    assert said(shared, "asks-a", f"{FETCH} http://{own[0]}/name | head -1") == f"a {own[0]}"
    assert said(shared, "asks-c", f"{FETCH} http://{own[2]}:81/name | head -1", hostNetwork=True) == f"c {own[2]}"
    assert said(shared, "asks-h", f"{FETCH} http://{host}/name | head -1") == f"h {host}"
    assert "Connection refused" in said(shared, "asks-nobody", f"{FETCH} http://127.0.0.1/name")


def test_the_device_of_an_ended_pod_is_gone_and_its_address_is_not_given_to_the_next(shared: DockerCluster) -> None:
    shared.apply(server("gone"))
    shared.wait(lambda c: ready(c, "gone"), 60 * SLOW)
    before, stood = shared.pod("gone").status.pod_ip, int(said(shared, "counts", COUNT, hostNetwork=True))
    assert stood >= 1
    shared.delete("Pod", "gone")
    shared.apply(server("next"))
    shared.wait(lambda c: ready(c, "next"), 60 * SLOW)
    assert shared.pod("next").status.pod_ip not in ("", before)
    # The kernel removes a namespace some time after its last process.
    until = f"for i in $(seq 100); do n=$({COUNT}); test $n -le {stood} && break; sleep 0.3; done; echo $n"
    assert int(said(shared, "counts-again", f"({until})", hostNetwork=True)) <= stood
