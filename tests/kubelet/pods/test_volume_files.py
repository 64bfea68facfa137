"""Volumes of ConfigMaps, Secrets and the downward API on a simulated node: what a container reads, and when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kitlib.cluster import Cluster
from kitlib.cluster.nodes.simulated_exec import ContainerShell

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\ndata: {app.conf: 'speed=1', other: x}\n"
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2}\n"
POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers:
  - name: c
    image: x:1
    command: [sh, -c, "sleep $(SECONDS_LEFT)"]
    envFrom: [{secretRef: {name: s}}]
    env: [{name: SECONDS_LEFT, value: "1000"}]
    resources: {limits: {memory: 64Mi}}
    volumeMounts:
    - {name: conf, mountPath: /etc/app}
    - {name: conf, mountPath: /etc/one.conf, subPath: app.conf}
    - {name: all, mountPath: /var/run/all}
  volumes:
  - name: conf
    configMap: {name: cm, items: [{key: app.conf, path: app.conf, mode: 0400}]}
  - name: all
    projected:
      sources:
      - secret: {name: s}
      - downwardAPI:
          items:
          - {path: pod/labels, fieldRef: {fieldPath: metadata.labels}}
          - {path: pod/memory, resourceFieldRef: {containerName: c, resource: limits.memory, divisor: 1Mi}}
"""


@pytest.fixture
def cluster() -> Iterator[Any]:
    with Cluster.simulated(1) as made:
        yield made


def shell(cluster: Any) -> ContainerShell:
    return ContainerShell(cluster.node(), "default", "web", "c")


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("cat /etc/app/app.conf", "speed=1"),
        ("cat /etc/one.conf", "speed=1"),
        ("ls /etc/app", "app.conf\n"),
        ("cat /var/run/all/password", "hunter2"),
        ("cat /var/run/all/pod/labels", 'app="web"'),
        ("cat /var/run/all/pod/memory", "64"),
        ("ls /var/run/all", "password\npod\n"),
        ("printenv password", "hunter2\n"),
    ],
)
def test_a_container_reads_what_was_declared(cluster: Any, command: str, wanted: str) -> None:
    for one in (CONFIG, SECRET, POD):
        cluster.apply(one)
    assert shell(cluster).run(command.split()).stdout == wanted


def test_files_follow_a_change_within_a_minute_and_variables_do_not(cluster: Any) -> None:
    for one in (CONFIG, SECRET, POD):
        cluster.apply(one)
    cluster.advance(1)
    for one in (CONFIG.replace("speed=1", "speed=2"), SECRET.replace("hunter2", "hunter3")):
        cluster.apply(one)
    assert shell(cluster).run(["cat", "/etc/app/app.conf"]).stdout == "speed=1"
    cluster.advance(61)
    assert shell(cluster).run(["cat", "/etc/app/app.conf"]).stdout == "speed=2"
    assert shell(cluster).run(["printenv", "password"]).stdout == "hunter2\n"


def test_a_pod_waits_for_a_volumes_object_and_says_so(cluster: Any) -> None:
    for one in (SECRET, POD):
        cluster.apply(one)
    cluster.advance(1)
    status = cluster.pod("web").status.container_statuses[0]
    assert status.state["waiting"]["reason"] == "ContainerCreating"
    messages = [event.message for event in cluster.events("web") if event.reason == "FailedMount"]
    assert messages[0] == 'MountVolume.SetUp failed for volume "conf" : configmap "cm" not found'
    cluster.apply(CONFIG)
    cluster.advance(5)
    assert cluster.pod("web").status.phase == "Running"


def test_a_missing_key_of_a_volume_is_named(cluster: Any) -> None:
    for one in (CONFIG.replace("app.conf", "no.conf"), SECRET, POD):
        cluster.apply(one)
    cluster.advance(1)
    messages = [event.message for event in cluster.events("web") if event.reason == "FailedMount"]
    assert messages[0].endswith('"conf" : configmap references non-existent config key: app.conf')


def test_a_container_waits_for_a_variables_object(cluster: Any) -> None:
    for one in (CONFIG, POD.replace("- secret: {name: s}", "- secret: {name: s, optional: true}")):
        cluster.apply(one)
    cluster.advance(1)
    waiting = cluster.pod("web").status.container_statuses[0].state["waiting"]
    assert waiting == {"reason": "CreateContainerConfigError", "message": 'secret "s" not found'}
    assert 'Error: secret "s" not found' in [e.message for e in cluster.events("web") if e.reason == "Failed"]
    cluster.apply(SECRET)
    cluster.advance(15)
    assert cluster.pod("web").status.phase == "Running"
