"""`kitlib doctor` beside a running engine: which one, where it was found, what a node is refused."""

from __future__ import annotations

import json

import pytest

from kitlib.cli import main
from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.node.real import engine, image
from tests.engine.traces import Traces


def test_doctor_names_the_engine_and_what_a_node_is_refused(
    shared: DockerCluster, capsys: pytest.CaptureFixture[str], traces: Traces
) -> None:
    client, endpoint = engine.reach()
    version = client.version()
    image.ensure(client)
    client.close()
    podman = any("Podman" in one["Name"] for one in version["Components"])
    assert main(["doctor", "--json"]) == 0
    found = {one["subject"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    told = found["container engine"]["found"]
    assert told.startswith(f"{'Podman' if podman else 'Docker'} ") and version["Version"] in told
    assert told.endswith(f"found at {endpoint.found}")
    root = found["root of a node"]
    assert (root["state"], "root of the machine" in root["found"]) == ("limited", True)
    assert "people whom you would give root" in root["advice"]
    node = found["a real node"]
    assert node["found"].startswith("starts, with a pod")
    assert node["state"] == ("limited" if shared.node().fidelity else "ok")
    assert node["advice"] == "; ".join(shared.node().fidelity)
    assert "real nodes" in found["works here"]["found"]
    assert traces.gone(2) == []


def test_doctor_says_why_no_engine_answers(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/socket")
    assert main(["doctor", "--json"]) == 0
    found = {one["subject"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    assert found["container engine"]["state"] == "missing"
    assert "DOCKER_HOST=unix:///no/such/socket: no such file or directory" in found["container engine"]["found"]
    assert "real nodes" not in found["works here"]["found"]
