"""A pod cannot reach the host, and a node gets no more than it needs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.node.real import container, engine
from tests.engine.helpers import granted, is_podman, pod

TRIES = {
    "writing to its root": "touch /etc/x",
    "writing to the kit": "touch /opt/kitlib/x",
    "mounting": "mount -t tmpfs none /tmp",
    "making a device": "mknod /tmp/sda b 8 0",
    "becoming root": "python3 -c 'import os; os.setuid(0)'",
    "reading kernel memory": 'test -n "$(head -c 1 /proc/kcore)"',  # masked: nothing is in it
    "changing a setting of the kernel": "echo 1 > /proc/sys/vm/drop_caches",
    "sysrq": "echo b > /proc/sysrq-trigger",
    "the host's clock": "python3 -c 'import time; time.clock_settime(time.CLOCK_REALTIME, 0)'",
    "cgroup files": "ls /sys/fs/cgroup/*",
    "a new user namespace's rights over the host": "unshare -m true",
    "another container's processes": "test $(ls -d /proc/[0-9]* | wc -l) -gt 20",
    "a network": "python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 53), 2)'",
    "disks": "ls /dev/sd* /dev/vd* /dev/nvme*",
    "a lower score": "echo -998 > /proc/self/oom_score_adj",  # the pod has -997 where the machine lets it
    "chroot": "chroot / true",
}


@pytest.mark.parametrize("what", TRIES)
def test_a_pod_may_not(shared: DockerCluster, what: str) -> None:
    name = shared.apply(pod(TRIES[what], restartPolicy="Never", limits={"cpu": "200m", "memory": "64Mi"}))[0].name
    shared.wait(lambda c: c.pod(name).status.phase in ("Succeeded", "Failed"), 15)
    assert shared.pod(name).status.phase == "Failed", shared.node().logs(name)
    shared.delete("Pod", name, grace=0)


def test_a_pod_has_no_capability_and_is_not_root(shared: DockerCluster) -> None:
    name = shared.apply(pod("id -u; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status; sleep 100"))[0].name
    shared.wait(lambda c: c.node().logs(name).count("\n") >= 4, 5)
    lines = dict(line.split(":") for line in shared.node().logs(name).splitlines()[1:])
    assert shared.node().logs(name).splitlines()[0] == "65534"
    assert {int(lines["CapEff"], 16), int(lines["CapBnd"], 16)} == {0}
    assert int(lines["NoNewPrivs"]) == 1
    shared.delete("Pod", name, grace=0)


def test_root_is_not_granted_and_that_is_said(shared: DockerCluster) -> None:
    name = shared.apply(pod("id -u; sleep 100", securityContext={"runAsUser": 0}))[0].name
    shared.wait(lambda c: c.node().logs(name) == "65534\n", 5)
    assert any("runAsUser: 0 is not granted" in e.message for e in shared.events(name))
    shared.delete("Pod", name, grace=0)


def test_a_node_has_no_network_no_devices_and_limits_of_its_own(shared: DockerCluster) -> None:
    client = engine.connect()
    found = client.api.inspect_container(shared.node().container.id)
    client.close()
    host = found["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert not host["Privileged"]
    assert not host["Devices"] and not host["Binds"]
    assert host["ReadonlyRootfs"] and host["AutoRemove"]
    assert host["Memory"] == 2 * 2**30 + container.OVERHEAD
    assert host["PidsLimit"] == container.MAX_PID + container.PIDS_OVERHEAD
    assert set(host["CapDrop"]) == {"ALL"} or is_podman()  # which lists them one by one
    lacking = shared.node().container.lacking
    given, wished = granted(found), {name for name in container.WISHED if name not in lacking}
    assert set(container.NEEDED) <= given <= {*container.NEEDED, *wished}
    assert wished <= given or is_podman()  # which leaves out what the machine has not, where Docker refuses
    assert "CAP_SYS_TIME" not in host["CapAdd"] and "SYS_TIME" not in host["CapAdd"]
    assert found["Config"]["StdinOnce"] or is_podman()  # which does so and does not tell


def test_full_privilege_works_too_where_the_engine_grants_it(start: Callable[..., DockerCluster]) -> None:
    from kitlib.api.errors import KitError

    try:
        cluster = start(1, privilege="full")
    except KitError as refused:
        assert "refused" in str(refused)
        assert "caps" in str(refused).lower() or "capab" in str(refused).lower()
        return
    cluster.apply(pod(limits={"cpu": "100m", "memory": "32Mi"}))
    assert cluster.pods()[0].status.phase == "Running"
    assert [str(d) for d in cluster.node().differences()] == []
