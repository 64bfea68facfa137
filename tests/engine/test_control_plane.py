"""The control plane in a container of its own: nothing else changes, and it goes with its owner."""

from __future__ import annotations

import gc
import json
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kitlib.api.errors import AlreadyExists, Conflict, Forbidden, Invalid, KitError, ManifestError, NotFound
from kitlib.api.serialize import to_dict
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.container import wire
from kitlib.cluster.control_plane.container.client import ContainerControlPlaneClient
from kitlib.cluster.control_plane.container.relay import ControlPlaneGone
from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.node.real import container, engine
from tests.engine.helpers import (
    ROOT,
    containers_of,
    deployment,
    granted,
    is_podman,
    kill,
    left_after,
    outside,
    pod,
    state,
)

QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "small", "namespace": "team"},
    "spec": {"hard": {"pods": "1"}},
}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
DEPLOYMENT = deployment(3, pod(requests={"cpu": "100m"}, limits={"memory": "32Mi"})["spec"])


def scenario(cluster: Any) -> dict[str, Any]:
    """A little of everything, and what it left behind, without times and addresses."""
    cluster.apply(DEPLOYMENT)
    cluster.cordon("node-2")
    cluster.apply(pod(name="late", requests={"cpu": "200m"}))
    cluster.apply(pod(name="big", requests={"cpu": "64"}))
    cluster.apply(pod("exit 3", name="fails", restartPolicy="Never"))
    cluster.resize("late", {"c": {"requests": {"cpu": "300m"}}})
    cluster.wait(lambda c: c.pod("fails").status.phase == "Failed", 20)
    cluster.wait(lambda c: all(p.status.phase != "Pending" for p in c.pods() if p.name != "big"), 20)
    cluster.scale("Deployment", "web", 1)
    cluster.wait(lambda c: len(c.pods(selector={"app": "web"})) == 1, 20)
    cluster.delete("Pod", "late", grace=0)
    cluster.wait(lambda c: all(p.name != "late" for p in c.pods()), 20)
    # a pod that is over may leave its cgroup a moment later than it is told of
    cluster.wait(lambda c: not any(c.node(n.name).differences() for n in c.nodes), 20)
    about = {p.name: "web" if p.name.startswith("web-") else p.name for p in cluster.pods()}
    pods = sorted(
        [about[p.name], p.spec.node_name, p.status.phase, p.status.qos_class, len(p.status.container_statuses)]
        for p in cluster.pods()
    )
    told = [(e.involved_object.name, e.reason, e.message) for e in cluster.events() if e.reason != "FailedScheduling"]
    events = sorted({(n, r, m) for n, r, m in told if not n.startswith("web")})
    decisions = {name: cluster.decision(name) for name in ("big", "fails")}
    asked = cluster.explain("fails")
    return {
        "pods": pods,
        "events": [list(one) for one in events],
        "message": cluster.decision("big").message,
        "decisions": {name: [d.explain(), d.to_json(), d.suggested_host] for name, d in decisions.items()},
        "explain": [asked.explain(), asked.to_json()],
        "journal": [entry["action"] for entry in cluster.journal],
    }


def test_the_same_scenario_is_the_same_wherever_the_control_plane_runs(start: Callable[..., Any]) -> None:
    found = {}
    for where in ("process", "container"):
        cluster = start(2, control_plane=where, seed=5)
        found[where] = scenario(cluster)
        assert cluster.notes == []
        cluster.close()
    assert found["container"] == found["process"]
    assert "Insufficient cpu" in found["container"]["message"]


@pytest.fixture(scope="module")
def cluster(engine: str) -> Iterator[Any]:
    with Cluster.docker(1, cpus=2, memory="1Gi", control_plane="container") as made:
        yield made


def test_errors_are_of_the_same_kind_with_the_same_words(cluster: Any) -> None:
    cluster.apply([NAMESPACE, QUOTA, pod(name="there")])
    simulated = Cluster.simulated(1)
    simulated.apply([NAMESPACE, QUOTA, pod(name="there")])
    twice = {**pod(name="one"), "metadata": {"name": "one", "namespace": "team"}}
    cluster.apply(twice)
    simulated.apply(twice)
    more = {**twice, "metadata": {"name": "two", "namespace": "team"}}
    wrong = pod(name="wrong", limits={"cpu": "1"}, requests={"cpu": "2"})
    stale = to_dict(cluster.pod("there"))
    stale["metadata"]["resourceVersion"] = "1"
    older = to_dict(simulated.pod("there"))
    older["metadata"]["resourceVersion"] = "1"
    for kind, ask in {
        NotFound: lambda c: c.get("Pod", "nobody"),
        AlreadyExists: lambda c: c.create(pod(name="there")),
        Invalid: lambda c: c.apply(wrong),
        Forbidden: lambda c: c.apply(more),
        Conflict: lambda c: c.apply(stale if c is cluster else older),
        ManifestError: lambda c: c.apply(
            "kind: Pod\nmetadata: {name: x}\nspec: {nodeName: elsewhere}\napiVersion: v1\n"
        ),
        LookupError: lambda c: c.delete("Pod", "nobody"),
    }.items():
        said = []
        for one in (cluster, simulated):
            with pytest.raises(kind) as raised:
                ask(one)
            said.append((type(raised.value), str(raised.value), sorted(vars(raised.value))))
        assert said[0] == said[1]
    cluster.delete("Namespace", "team")


def test_a_custom_resource_is_held_against_its_schema(cluster: Any) -> None:
    """The image has all packages that the control plane needs for it."""
    size = {"type": "integer", "maximum": 3}
    spec = {"type": "object", "properties": {"size": size, "name": {"type": "string", "pattern": "^a+$"}}}
    version = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    names = {"plural": "boxes", "singular": "box", "kind": "Box"}
    definition = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    cluster.apply({**head, "metadata": {"name": "boxes.example.com"}, "spec": definition})
    box = {"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "b"}}
    with pytest.raises(Invalid, match="should be less than or equal to 3"):
        cluster.apply({**box, "spec": {"size": 4}})
    cluster.apply({**box, "spec": {"size": 3, "name": "aa"}})
    assert to_dict(cluster.get("Box", "b"))["spec"]["size"] == 3


def test_what_is_watched_comes_in_order_and_a_copy_is_not_written_to(cluster: Any) -> None:
    watch = cluster.watch("Pod")
    name = cluster.apply(pod())[0].name
    cluster.delete("Pod", name, grace=0)
    cluster.wait(lambda c: all(p.name != name for p in c.pods()), 10)
    seen = [(e.type, e.version) for e in watch if e.object.name == name]
    assert (seen[0][0], seen[-1][0]) == ("ADDED", "DELETED")
    assert [version for _, version in seen] == sorted({version for _, version in seen})
    with pytest.raises(KitError, match="copy of the control plane's store"):
        cluster.api.store.delete("Pod", "there", "default")


def test_controllers_and_scheduler_work_on_while_nobody_asks(cluster: Any) -> None:
    cluster.apply(pod("sleep 0.3; exit 1", name="again"))
    time.sleep(2.5)  # a question would set them to work
    assert cluster.api.store.get("Pod", "again", "default").status.phase == "Running"  # as it was
    assert state(cluster, "again")[2] >= 1
    cluster.delete("Pod", "again", grace=0)


def test_the_control_planes_container_has_no_rights(cluster: Any) -> None:
    client = engine.connect()
    found = client.api.inspect_container(cluster._relay.control.id)
    client.close()
    host = found["HostConfig"]
    assert host["NetworkMode"] == "none" and not host["Privileged"] and not host["CapAdd"]
    assert (set(host["CapDrop"]) == {"ALL"} or is_podman()) and "no-new-privileges" in host["SecurityOpt"]
    assert granted(found) == set()
    assert host["ReadonlyRootfs"] and host["AutoRemove"] and not host["Binds"] and not host["Devices"]
    assert host["Memory"] == container.CONTROL_MEMORY and host["PidsLimit"] == container.CONTROL_PIDS
    assert found["Config"]["User"] == f"{container.CONTROL_UID}:{container.CONTROL_UID}" and (
        found["Config"]["StdinOnce"] or is_podman()
    )


def test_nodes_come_and_go(start: Callable[..., Any]) -> None:
    cluster = start(1, memory="256Mi", control_plane="container")
    (added,) = cluster.add_nodes([{"name": "more", "memory": "256Mi"}])
    assert added.name == "more" and cluster.node("more").link.alive
    with pytest.raises(KitError, match="already exists"):
        cluster.add_nodes([{"name": "more"}])
    cluster.cordon("node-1")
    name = cluster.apply(pod())[0].name
    assert (cluster.pod(name).spec.node_name, cluster.pod(name).status.phase) == ("more", "Running")
    link = cluster.node("more").link
    cluster.delete("Node", "more")
    with pytest.raises(NotFound):
        cluster.node("more")
    deadline = time.monotonic() + 10
    while link.alive and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not link.alive


def test_a_node_that_dies_is_not_ready(start: Callable[..., Any]) -> None:
    cluster = start(2, memory="256Mi", control_plane="container")
    kill(cluster.node("node-2").container.id)

    def ready(c: Any) -> dict[str, str]:
        return {n.name: next(k.status for k in n.status.conditions if k.type == "Ready") for n in c.nodes}

    # by the end of its stream: silence alone would be noticed after HEARTBEAT and `patience`, more than a minute
    cluster.wait(lambda c: ready(c) == {"node-1": "True", "node-2": "Unknown"}, 10)
    assert cluster.apply(pod())[0].spec.node_name == "node-1"


def test_what_only_this_process_can_do_keeps_the_control_plane_here(start: Callable[..., Any]) -> None:
    class Mine:
        name = "Mine"

    extended = {"extenders": [{"urlPrefix": "http://127.0.0.1:1/", "filterVerb": "filter", "ignorable": True}]}
    cluster = start(1, memory="256Mi", control_plane="container", scheduler=extended)
    assert isinstance(cluster, DockerCluster)
    assert "extenders are called from this process" in cluster.notes[0]
    cluster.close()
    cluster = start(1, memory="256Mi", control_plane="container", plugins=[Mine()])
    assert "plugins of your own" in cluster.notes[0]
    with pytest.raises(KitError, match="must be one of process, container"):
        Cluster.docker(1, control_plane="elsewhere")


def test_a_killed_control_plane_is_a_clear_error_and_nothing_is_left(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = uuid.uuid4().hex
    monkeypatch.setenv("KITLIB_RUN", run)
    cluster = Cluster.docker(1, cpus=2, memory="256Mi", control_plane="container")
    assert isinstance(cluster, ContainerControlPlaneClient)
    cluster.apply(pod(name="a"))
    cluster.wait(lambda c: c.pod("a").status.phase == "Running", 60)
    assert len(containers_of(run)) == 2
    assert cluster._relay.control is not None
    kill(cluster._relay.control.id)
    with pytest.raises(ControlPlaneGone, match="the control plane has ended"):
        cluster.wait(lambda c: False, 60)
    with pytest.raises(ControlPlaneGone, match=r"replay\(cluster.journal\) on a new cluster repeats your actions"):
        cluster.apply(pod(name="b"))
    assert cluster.node().process("a").name  # the nodes are there all the same
    with pytest.raises(ControlPlaneGone, match="as they were last heard of"):
        cluster.pod("a")
    assert cluster.pod("a").status.phase == "Running"  # said once, then what was last heard of is read
    assert [p.name for p in cluster.pods()] == ["a"] and "last heard of" in cluster.notes[-1]
    cluster.close()
    assert left_after(5, run) == []
    assert cluster.pod("a").status.phase == "Running"
    with Cluster.docker(1, cpus=2, memory="256Mi", control_plane="process") as again:
        again.replay(cluster.journal)
        again.wait(lambda c: [(p.name, p.status.phase) for p in c.pods()] == [("a", "Running")], 60)


def test_a_control_plane_that_does_not_start_leaves_nothing(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = uuid.uuid4().hex
    monkeypatch.setenv("KITLIB_RUN", run)
    with monkeypatch.context() as patch:
        patch.setattr(wire, "VERSION", wire.VERSION + 1)
        with pytest.raises(KitError, match="kitlib image build"):
            Cluster.docker(2, cpus=2, memory="256Mi", control_plane="container")
    assert containers_of(run) == []
    wrong = {"profiles": [{"plugins": {"score": {"enabled": [{"name": "Nope"}]}}}]}
    with pytest.raises(KitError) as here:
        Cluster.simulated(1, scheduler=wrong)
    with pytest.raises(KitError) as there:
        Cluster.docker(1, cpus=2, memory="256Mi", control_plane="container", scheduler=wrong)
    assert (type(there.value), str(there.value)) == (type(here.value), str(here.value))
    assert containers_of(run) == []


def test_a_cluster_that_nobody_holds_ends_by_itself(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = uuid.uuid4().hex
    monkeypatch.setenv("KITLIB_RUN", run)
    cluster = Cluster.docker(1, cpus=2, memory="256Mi", control_plane="container")
    assert len(containers_of(run)) == 2
    del cluster
    gc.collect()
    assert left_after(5, run) == []


OWNER = """
import json, sys, time
from kitlib.cluster import Cluster
cluster = Cluster.docker(2, cpus=2, memory="256Mi", control_plane="container")
made = cluster.apply(json.loads(sys.argv[1]))
cluster.wait(lambda c: c.pods()[0].status.phase == "Running")
print(cluster.pods()[0].status.phase, len(cluster.events()) > 2, len(cluster.node("node-1").tree()) > 3, flush=True)
print([name for name in sys.modules if name.startswith("kitlib.scheduler")], flush=True)
time.sleep(1000)
"""


def test_the_owner_loads_no_scheduler_and_leaves_nothing_when_it_is_killed(engine: str) -> None:
    run = uuid.uuid4().hex
    command = [sys.executable, "-c", OWNER, json.dumps(pod(name="a"))]
    environment = outside(KITLIB_RUN=run)
    owner = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "Running True True\n"
    assert owner.stdout.readline() == "[]\n"
    assert len(containers_of(run)) == 3
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    assert left_after(5, run) == []
