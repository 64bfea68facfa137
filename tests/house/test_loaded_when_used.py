"""Tests that a simulated pod loads only the code that it needs: no kinds, languages and plugins beyond the scene."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES, LINES = 320, 45_900
"""A limit may be lowered; what is new and not needed by one pod is loaded when it is used."""
SCENE = """
import json, sys
from kitlib.cluster import Cluster

pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
requests = {"requests": {"cpu": "100m", "memory": "64Mi"}}
pod["spec"] = {"containers": [{"name": "c", "image": "app", "resources": requests}]}
with Cluster.simulated(nodes=1) as cluster:
    cluster.apply(pod)
    cluster.advance(5)
    assert cluster.pod("p").status.phase == "Running"
found = {name: module.__file__ for name, module in sys.modules.items() if name.partition(".")[0] == "kitlib"}
print(json.dumps(found))
"""
ABSENT = (
    *("kitlib.cel", "kitlib.apiserver.http", "kitlib.apiserver.admission.policy", "kitlib.apiserver.admission.custom"),
    *("kitlib.apiserver.admission.podsecurity", "kitlib.apiserver.admission.quota"),
    *("kitlib.apiserver.admission.limit_range", "kitlib.apiserver.admission.flow_control"),
    *("kitlib.apiserver.validation.volumes", "kitlib.apiserver.validation.volume_sources"),
    *("kitlib.apiserver.validation.devices", "kitlib.apiserver.validation.workloads"),
    *("kitlib.apiserver.validation.custom_resource_definition", "kitlib.apiserver.validation.service"),
    *("kitlib.api.defaults.workloads", "kitlib.api.defaults.admission", "kitlib.api.defaults.others"),
    *("kitlib.controllers.deployment", "kitlib.controllers.job", "kitlib.controllers.volume"),
    *("kitlib.controllers.endpoints", "kitlib.controllers.replicaset", "kitlib.controllers.resourceclaim"),
    *("kitlib.controllers.podautoscaler", "kitlib.controllers.statefulset", "kitlib.controllers.daemon"),
    *("kitlib.scheduler.plugins.dynamicresources", "kitlib.scheduler.plugins.volume_binding"),
    *("kitlib.scheduler.plugins.volume_restrictions", "kitlib.scheduler.plugins.volume_zone"),
    *("kitlib.scheduler.plugins.node_volume_limits", "kitlib.scheduler.framework.volumes"),
    *("kitlib.api.claims", "kitlib.api.devices", "kitlib.api.storage", "kitlib.api.apiextensions"),
    *("kitlib.api.defaults.volumes", "kitlib.api.defaults.claims", "kitlib.kubelet.cm.dra"),
    *("kitlib.scheduler.framework.assume_cache", "kitlib.scheduler.framework.dra_manager"),
    *("kitlib.kubelet.cm.cpumanager.policy_static", "kitlib.kubelet.loop.volumes", "kitlib.kubelet.pods.volume_files"),
    *("kitlib.api.admissionregistration", "kitlib.api.autoscaling", "kitlib.api.autoscaling_v1", "kitlib.api.rbac"),
    *("kitlib.api.certificates", "kitlib.api.flowcontrol", "kitlib.api.networking"),
    "kitlib.kubelet.cm.systemd_properties",
    *("kitlib.kubelet.cm.memorymanager.policy_static", "kitlib.node.simulated.shell.interpreter"),
)
"""Parts of which nothing is loaded."""


@pytest.fixture(scope="module")
def loaded() -> dict[str, str | None]:
    command = [sys.executable, "-c", SCENE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
    found: dict[str, str | None] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("part", ABSENT)
def test_one_pod_loads_nothing_of_a_part_that_it_does_not_use(part: str, loaded: dict[str, str | None]) -> None:
    path = ROOT / part.replace(".", "/")
    assert path.is_dir() or path.with_suffix(".py").is_file()
    assert not [name for name in loaded if name == part or name.startswith(f"{part}.")]


def test_one_pod_costs_one_pod(loaded: dict[str, str | None]) -> None:
    lines = {name: len(Path(file).read_text().splitlines()) for name, file in loaded.items() if file}
    largest = sorted(lines, key=lines.__getitem__, reverse=True)[:20]
    assert (len(lines) <= MODULES, sum(lines.values()) <= LINES) == (True, True), (
        f"{len(lines)} modules, {sum(lines.values())} lines; the largest: {', '.join(largest)}"
    )
