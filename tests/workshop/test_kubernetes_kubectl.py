"""The recipe's manifests with the real kubectl, as an administrator applies them and a learner meets them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kitlib import cli
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.kubernetes.manifest import PodOptions, PodOwner, control_pod, node_pod
from tests.apiserver.http.clients import binaries
from tests.apiserver.http.test_kubectl import Client, start

pytestmark = pytest.mark.kubectl

IMAGE, HUB, NODES = "registry.example/kitlib-node:1", "kitlib-hub", "kitlib-nodes-1"
LEARNER = ("--as", f"system:serviceaccount:{HUB}:kitlib-learner-1", "-n", NODES)
OPTIONS = PodOptions(image=IMAGE, deadline=3600, machines="required")


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    programs = binaries()
    assert programs is not None, "the package with kubectl and helm is not installed"
    folder = tmp_path_factory.mktemp("kubectl")
    assert cli.main(["workshop", str(folder / "recipe"), "--kubernetes", "--no-wheel", "--learners", "1"]) == 0
    process = start(folder, "--nodes", "2")
    try:
        yield Client(folder, programs)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def applied(kubectl: Client, recipe: Path) -> list[str]:
    """What kubectl says of storage, room and namespace, in the guide's order."""
    said = kubectl("apply", "--validate=strict", "-n", HUB, "-f", str(recipe / "storage.yaml"))
    said += kubectl("apply", "--validate=strict", "-n", HUB, "-f", str(recipe / "room.yaml"))
    said += kubectl("apply", "--validate=strict", "-f", str(recipe / "nodes-namespace.yaml"))
    return said.splitlines()


def test_the_manifests_apply_strictly_and_again_without_a_change(kubectl: Client) -> None:
    kubectl("create", "namespace", HUB)
    recipe = kubectl.folder / "recipe"
    first, again = applied(kubectl, recipe), applied(kubectl, recipe)
    kinds = [line.split("/")[0].split(".")[0] for line in first]
    each = ["namespace", "resourcequota", "limitrange", "networkpolicy", "serviceaccount", "role", "rolebinding"]
    policies = ["validatingadmissionpolicy", "validatingadmissionpolicybinding"] * 4
    room = ["persistentvolumeclaim", "service", "networkpolicy", "deployment"]
    assert kinds == ["persistentvolumeclaim", *room, *policies, *(each * 3)]  # one learner, and two in reserve
    assert all(line.endswith(" created") for line in first)
    changed = {line.split("/")[0].split(".")[0] for line in again if not line.endswith(" unchanged")}
    # its list is atomic, and the server fills in defaults
    assert changed == {"limitrange"}


def test_the_guides_options_hand_on_any_word(kubectl: Client) -> None:
    """The option --set ends a value at a comma and makes digits a number, which the chart refuses."""
    chart = kubectl.folder / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("{apiVersion: v2, name: chart, version: 1.0.0}\n")
    (chart / "templates/env.yaml").write_text("env: {{ toJson .Values.hub.extraEnv }}\n")
    guide = (kubectl.folder / "recipe/guide-kubernetes.md").read_text()
    options = re.findall(r"(--set\S*) (hub\.extraEnv\.(KITLIB_HUB_\w+))='([^']+)'", guide)
    words = {name: word for _, _, name, word in options} | {"KITLIB_HUB_PASSWORD": "20261127"}
    given = [text for option, key, name, _ in options for text in (option, f"{key}={words[name]}")]
    command = ["helm", "template", "hub", str(chart), *given]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env=kubectl.environment).stdout
    assert len(options) == 2 and yaml.safe_load(shown) == {"env": words}


def test_a_learner_may_make_the_kits_pods_and_nothing_else(kubectl: Client) -> None:
    machine = MachineInfo.declare(2, "1Gi")
    for pod in (
        node_pod("kitlib-node-1", "node-1", machine, OPTIONS, PodOwner("host/1:2")),
        control_pod("kitlib-control-plane", OPTIONS, PodOwner("host/1:2")),
    ):
        text = kubectl.file("pod.json", json.dumps(pod))
        kubectl(*LEARNER, "create", "--validate=strict", "-f", text)
    assert kubectl(*LEARNER, "auth", "can-i", "create", "pods/attach") == "yes\n"
    assert kubectl.run(*LEARNER, "auth", "can-i", "create", "secrets").stdout == "no\n"
    large = node_pod("kitlib-large", "large", MachineInfo.declare(64, "1Gi"), OPTIONS, PodOwner("host/1:2"))
    said = kubectl.refused(*LEARNER, "create", "-f", kubectl.file("large.json", json.dumps(large)))
    assert "maximum cpu usage per Container is 4, but limit is 64" in said
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 80}]}\n"
    said = kubectl.refused(*LEARNER, "create", "-f", kubectl.file("service.yaml", service))
    assert 'cannot create resource "services" in API group "" in the namespace "kitlib-nodes-1"' in said
