"""Client libraries on a served cluster: the official Python client, kr8s, a kopf operator, an external scheduler."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kitlib.apiserver.http import serve
from kitlib.cluster import Cluster

pytestmark = pytest.mark.kubectl
DEADLINE = 60.0


@pytest.fixture
def service(tmp_path: Path) -> Any:
    with Cluster.simulated(2) as cluster, serve(cluster, kubeconfig_path=tmp_path / "config") as made:
        yield made


@pytest.fixture
def api(service: Any, tmp_path: Path) -> Any:
    """The official client's core API."""
    from kubernetes import client, config

    config.load_kube_config(str(tmp_path / "config"))
    return client.CoreV1Api()


def eventually(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError("timed out waiting for the condition")


def pod(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "x:1"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def test_the_official_client_reads_writes_and_watches(api: Any) -> None:
    from kubernetes import client, watch
    from kubernetes.client.exceptions import ApiException

    api.create_namespaced_pod("default", pod("a"))
    found = api.read_namespaced_pod("a", "default")
    assert (found.status.phase, found.status.qos_class) == ("Running", "BestEffort")
    api.patch_namespaced_pod("a", "default", {"metadata": {"labels": {"x": "y"}}})
    assert [p.metadata.name for p in api.list_pod_for_all_namespaces(label_selector="x=y").items] == ["a"]
    with pytest.raises(ApiException) as raised:
        api.create_namespaced_pod("default", pod("a"))
    assert raised.value.status == 409
    version = api.list_namespaced_pod("default").metadata.resource_version
    api.create_namespaced_pod("default", pod("b"))
    stream = watch.Watch().stream(api.list_namespaced_pod, "default", resource_version=version, timeout_seconds=20)
    first = next(iter(stream))
    assert (first["type"], first["object"].metadata.name) == ("ADDED", "b")
    apps = client.AppsV1Api()
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("x")["spec"]}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    apps.create_namespaced_deployment("default", {"metadata": {"name": "web"}, "spec": spec})
    apps.patch_namespaced_deployment_scale("web", "default", {"spec": {"replicas": 3}})
    eventually(lambda: apps.read_namespaced_deployment("web", "default").status.ready_replicas == 3)


def test_an_external_scheduler_lists_watches_and_binds(api: Any) -> None:
    """A scheduler of its own name: nothing else places its pods; it survives a watch that ends."""
    from kubernetes import client, watch

    placed: list[str] = []
    stop = threading.Event()

    def schedule() -> None:
        version = "0"
        while not stop.is_set():
            stream = watch.Watch().stream(
                api.list_namespaced_pod,
                "default",
                field_selector="spec.schedulerName=mine,spec.nodeName=",
                resource_version=version,
                timeout_seconds=1,
            )
            for event in stream:
                version = event["object"].metadata.resource_version
                if event["type"] != "ADDED":
                    continue
                name = event["object"].metadata.name
                target = client.V1ObjectReference(kind="Node", name="node-2")
                binding = client.V1Binding(metadata=client.V1ObjectMeta(name=name), target=target)
                api.create_namespaced_pod_binding(name, "default", binding, _preload_content=False)
                placed.append(name)

    thread = threading.Thread(target=schedule, daemon=True)
    thread.start()
    try:
        for number in range(4):
            api.create_namespaced_pod("default", pod(f"p{number}", schedulerName="mine"))
            time.sleep(0.6)  # the watches end every second: some pods come between two of them
        eventually(lambda: len(placed) == 4)
    finally:
        stop.set()
        thread.join(10)
    found = {p.metadata.name: p.spec.node_name for p in api.list_namespaced_pod("default").items}
    assert found == {f"p{number}": "node-2" for number in range(4)}


def test_kr8s_gets_creates_scales_and_deletes(service: Any, tmp_path: Path) -> None:
    import kr8s
    from kr8s.objects import Deployment

    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("x")["spec"]}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    made = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": spec,
    }
    api = kr8s.api(kubeconfig=str(tmp_path / "config"))
    web = Deployment(made, api=api)
    web.create()
    web.scale(2)
    eventually(lambda: len(list(api.get("pods", namespace="default", label_selector="app=web"))) == 2)
    assert {node.name for node in api.get("nodes")} == {"node-1", "node-2"}
    web.delete()
    eventually(lambda: not list(api.get("deployments", namespace="default")))


OPERATOR = """
import kopf

@kopf.on.startup()
def quiet(settings, **_):
    settings.posting.enabled = False

@kopf.on.create("pods", annotations={"team": "batch"})
def admit(spec, patch, **_):
    if spec.get("schedulingGates"):
        patch.spec["schedulingGates"] = None
"""


def test_an_operator_in_kopf_removes_scheduling_gates(api: Any, tmp_path: Path) -> None:
    operator = tmp_path / "operator.py"
    operator.write_text(OPERATOR)
    command = [sys.executable, "-m", "kopf", "run", "--standalone", "--namespace=default", str(operator)]
    environment = {**os.environ, "KUBECONFIG": str(tmp_path / "config")}
    log = (tmp_path / "log").open("w")
    with subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT) as process:
        try:
            gated = pod("gated", schedulingGates=[{"name": "example.com/quota"}])
            gated["metadata"]["annotations"] = {"team": "batch"}
            api.create_namespaced_pod("default", gated)
            assert api.read_namespaced_pod("gated", "default").spec.node_name is None
            try:
                eventually(lambda: api.read_namespaced_pod("gated", "default").spec.node_name)
            except AssertionError:
                raise AssertionError((tmp_path / "log").read_text()[-3000:]) from None
        finally:
            process.terminate()


def test_fifty_watchers_hear_every_change_in_order(service: Any) -> None:
    """Changes come as fast as the cluster takes them; each watcher gets all of them, once, in order."""
    import ssl
    import urllib.request

    changes, watchers = 1000, 50
    path = "/api/v1/namespaces/default/configmaps"
    context = ssl._create_unverified_context()

    def request(url: str) -> Any:
        made = urllib.request.Request(f"{service.address}{url}", headers={"Authorization": f"Bearer {service.token}"})
        return urllib.request.urlopen(made, context=context, timeout=DEADLINE)

    import json

    version = json.load(request(path))["metadata"]["resourceVersion"]
    heard: dict[int, list[str]] = {}

    def listen(number: int) -> None:
        stream = request(f"{path}?watch=true&resourceVersion={version}&timeoutSeconds=55")
        heard[number] = [json.loads(stream.readline())["object"]["metadata"]["name"] for _ in range(changes)]

    threads = [threading.Thread(target=listen, args=(number,), daemon=True) for number in range(watchers)]
    for thread in threads:
        thread.start()
    from kitlib.api.core import ConfigMap
    from kitlib.api.meta import ObjectMeta

    names = [f"m-{number:04d}" for number in range(changes)]
    for name in names:
        with service.lock:
            service.cluster.api.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))
    for thread in threads:
        thread.join(DEADLINE)
    assert [heard.get(number) == names for number in range(watchers)] == [True] * watchers


def test_an_asyncio_loop_of_the_callers_own_is_left_alone(tmp_path: Path) -> None:
    """A notebook runs a loop: serving works from within it."""

    async def within() -> str:
        with Cluster.simulated(1) as cluster, serve(cluster) as service:
            return str(service.address)

    assert asyncio.run(within()).startswith("https://127.0.0.1:")


class Informer:
    """A list, then watches, each from where the one before was cut; on 410 a list again, as client-go's Reflector."""

    def __init__(self, api: Any) -> None:
        self._api, self.version, self.known = api, "", {}
        self.told: list[int] = []
        self.lists = 0

    def list(self) -> None:
        found = self._api.list_namespaced_config_map("default")
        self.version, self.lists = found.metadata.resource_version, self.lists + 1
        self.known = {one.metadata.name: one.data for one in found.items}

    def watch(self, most: int) -> None:
        """Take so many changes, then cut the connection in the middle of the stream."""
        from kubernetes import watch
        from kubernetes.client.exceptions import ApiException

        stream = watch.Watch()
        try:
            events = stream.stream(
                self._api.list_namespaced_config_map,
                "default",
                resource_version=self.version,
                allow_watch_bookmarks=True,
                timeout_seconds=5,
            )
            for count, event in enumerate(events, start=1):
                self._take(event)
                if count >= most:
                    break
        except ApiException as error:
            assert error.status == 410
            self.list()
        finally:
            stream.stop()

    def _take(self, event: Any) -> None:
        raw = event["raw_object"]
        self.version = raw["metadata"]["resourceVersion"]
        if event["type"] == "BOOKMARK":
            return
        self.told.append(int(self.version))
        name = raw["metadata"]["name"]
        if event["type"] == "DELETED":
            assert name in self.known
            del self.known[name]
        else:
            assert (name in self.known) == (event["type"] == "MODIFIED")
            self.known[name] = raw.get("data")


def test_an_informer_whose_connection_is_cut_again_and_again_misses_and_repeats_nothing(service: Any, api: Any) -> None:
    from kubernetes.client.exceptions import ApiException

    changed: list[int] = []

    def note(event: Any) -> None:
        meta = event.object.metadata
        if event.object.kind == "ConfigMap" and meta.namespace == "default":
            changed.append(event.version)

    informer = Informer(api)
    informer.list()
    service.cluster.api.store.subscribe(note)
    for i in range(60):
        name = f"c-{i % 7}"
        if name in {one.metadata.name for one in api.list_namespaced_config_map("default").items} and i % 3 == 0:
            api.delete_namespaced_config_map(name, "default")
        else:
            body = {"metadata": {"name": name}, "data": {"i": str(i)}}
            try:
                api.create_namespaced_config_map("default", body)
            except ApiException as error:
                assert error.status == 409
                api.replace_namespaced_config_map(name, "default", body)
        if i % 5 == 4:
            informer.watch(1 + i % 3)
    while informer.told != changed:
        before = len(informer.told)
        informer.watch(7)
        assert len(informer.told) > before
    assert informer.lists == 1
    found = {one.metadata.name: one.data for one in api.list_namespaced_config_map("default").items}
    assert informer.known == found

    store = service.cluster.api.store
    with service.lock:
        store._forget_until(store.version)
    api.create_namespaced_config_map("default", {"metadata": {"name": "new"}})
    informer.version = "1"
    informer.watch(1)
    assert informer.lists == 2
    assert "new" in informer.known
