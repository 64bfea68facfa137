"""Labs that are solved with kubectl alone: its writes are in the journal, and the replay of it is accepted."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.serialize import to_dict
from kitlib.apiserver.http.server import GenericAPIServer
from kitlib.lab import Lab, kubectl
from kitlib.lab.definition import LabFolder
from kitlib.lab.grader import grade_journal, prepare
from kitlib.lab.progress import Progress
from tests.apiserver.http.clients import binaries
from tests.lab.kubectl_learner import OverHTTP, WithKubectl

LABS = Path(__file__).parents[2] / "labs"
KINDS = ("01-", "10-", "14-", "20-", "21-", "24-", "25-")
"""A pod made again, affinity, priorities, a drain with a budget, a resize in place, bindings, custom objects."""
FOLDERS = [LabFolder.read(path.parent) for path in sorted(LABS.glob("*/lab.toml"))]
CASES = [
    pytest.param(folder, id=folder.name, marks=() if folder.name.startswith(KINDS) else pytest.mark.thorough)
    for folder in FOLDERS
]


def same_state(one: Any, other: Any) -> None:
    """Compare specification and phase of all pods and the nodes' settings, without times and versions."""

    def of(cluster: Any) -> list[Any]:
        pods = [(p.key, p.metadata.uid, p.spec, p.status.phase) for p in cluster.pods()]
        return [sorted(pods, key=lambda pod: pod[0]), [(n.name, n.spec) for n in cluster.nodes]]

    assert of(one) == of(other)


@pytest.mark.parametrize("folder", CASES)
def test_a_lab_is_solved_by_requests_alone(folder: LabFolder) -> None:
    cluster = prepare(folder)
    folder.answers().reference(OverHTTP(cluster))
    journal = list(cluster.journal)
    writes = [entry for entry in journal if entry["action"] not in ("advance", "write")]
    assert writes or folder.name.startswith("07")
    assert {(entry["by"], entry["client"]) for entry in writes} <= {("kubernetes-admin", "kubectl")}
    again = prepare(folder)
    again.replay(journal)
    same_state(again, cluster)
    found = grade_journal(folder, journal)
    assert found.passed, "\n".join(map(str, (*found.results, *found.rules)))


def test_a_wrong_answer_by_kubectl_is_refused_as_in_python() -> None:
    folder = FOLDERS[0]
    cluster = prepare(folder)
    wrong = next(one for one in folder.answers().wrong if "taken away" in one.tries)
    wrong.act(OverHTTP(cluster))
    found = grade_journal(folder, list(cluster.journal))
    assert not found.passed
    assert wrong.says in "\n".join(map(str, (*found.results, *found.rules)))


@pytest.mark.kubectl
@pytest.mark.parametrize("folder", [one for one in FOLDERS if one.name.startswith(KINDS)], ids=lambda one: one.name)
def test_the_real_kubectl_solves_a_lab(folder: LabFolder, tmp_path: Path) -> None:
    programs = binaries()
    assert programs is not None, "the package with kubectl and helm is not installed"
    cluster = prepare(folder)
    file = tmp_path / "config"
    with GenericAPIServer(cluster, kubeconfig_path=file, only_while_waited=True, service_accounts=False):
        folder.answers().reference(WithKubectl(cluster, str(programs / "kubectl"), str(file)))
    journal = list(cluster.journal)
    assert {entry["client"] for entry in journal if entry["action"] != "advance"} == {"kubectl"}
    found = grade_journal(folder, journal)
    assert found.passed, "\n".join(map(str, (*found.results, *found.rules)))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda one: one.name)
def test_a_lab_names_its_steps_with_kubectl_and_in_python(folder: LabFolder) -> None:
    ways = folder.definition.commands()
    assert any(way.kubectl.startswith("kubectl ") for way in ways)
    assert all(re.search(r"\w\(.+\)$", way.python) for way in ways)
    named = " ".join(way.step + way.kubectl for way in ways)
    if not folder.definition.ways:  # every object that the task changes is named
        assert {one.split()[1] for one in folder.definition.edit} <= set(re.findall(r"`([^`]+)`", named))


def test_a_lab_shows_its_steps(tmp_path: Path) -> None:
    lab = Lab("16-capstone", progress=Progress(tmp_path / "progress.jsonl"))
    for way in lab._folder.definition.commands():
        assert str(way) in repr(lab)
        assert way.kubectl in lab._repr_html_() and way.python in lab._repr_html_()


@pytest.mark.kubectl
def test_an_open_lab_is_solved_from_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = binaries()
    assert programs is not None, "the package with kubectl and helm is not installed"
    for name, value in kubectl.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    lab = Lab("03-sidecar-oom", progress=Progress(tmp_path / "progress.jsonl"))
    learner = WithKubectl(lab.cluster, str(programs / "kubectl"), str(tmp_path / kubectl.FILE))
    LabFolder.read(LABS / lab.name, lab.seed).answers().reference(learner)
    assert lab.check().passed
    lab.reset()
    assert (tmp_path / kubectl.FILE).exists()
    lab._served.close()


@pytest.mark.thorough
def test_a_scheduler_of_ten_lines_solves_its_lab_over_the_api(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = LabFolder.read(LABS / "24-a-scheduler-of-your-own")
    values = folder.variant
    cells = json.loads((folder.path / "lab.ipynb").read_text(encoding="utf-8"))["cells"]
    (program,) = re.findall(
        r"```python\n(import random.*?)```", "\n".join("".join(one["source"]) for one in cells), re.S
    )
    whole = {f"{values.first}-1": values.busy, f"{values.first}-3": values.busy}
    chosen = f"{whole!r}.get(pod.metadata.name, {values.second!r})"
    program = program.replace("random.choice(v1.list_node().items).metadata.name", chosen)
    program = program.replace("schedulerName=NAME", f"schedulerName={values.scheduler}")
    program = program.replace('"default", field', '"default", timeout_seconds=2, field')
    place = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": values.second}}}
    program += f"v1.patch_namespaced_persistent_volume_claim({values.store + '-data'!r}, 'default', {place!r})\n"
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    cluster = prepare(folder)
    with GenericAPIServer(cluster, kubeconfig_path=tmp_path / "config", only_while_waited=True, service_accounts=False):
        subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
    journal = list(cluster.journal)
    bound = {entry["name"]: entry["node"] for entry in journal if entry["action"] == "bind"}
    assert bound == whole | {f"{values.first}-2": values.second, values.store: values.second}
    found = grade_journal(folder, [*journal, {"action": "advance", "seconds": 60}])
    assert found.passed, "\n".join(map(str, (*found.results, *found.rules)))


def test_a_namespace_that_is_finalized_by_force_leaves_its_content_and_is_refused() -> None:
    folder = LabFolder.read(LABS / "25-the-namespace-that-stays")
    cluster = prepare(folder)
    learner = OverHTTP(cluster)
    learner.delete("Namespace", folder.variant.team)
    cluster.advance(60)
    namespace = to_dict(cluster.get("Namespace", folder.variant.team))
    learner.send("PUT", f"/api/v1/namespaces/{folder.variant.team}/finalize", {**namespace, "spec": {"finalizers": []}})
    for name in (folder.variant.first, folder.variant.second):
        learner.delete("PersistentVolume", f"{name}-data")
    cluster.advance(30)
    found = grade_journal(folder, list(cluster.journal))
    assert not found.passed
    (rule,) = [one for one in found.rules if one.rule == "orphans"]
    assert f"was still stored when its namespace {folder.variant.team} was gone" in rule.found
