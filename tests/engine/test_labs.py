"""The enforcement labs on real nodes: the solution passes, the untouched start and what learners try first do not.

Here a minute is a minute, so every attempt has a node of its own and they all run side by side; of a lab that lets
minutes pass only the solution is tried.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kitlib.lab import Lab
from kitlib.lab.definition import LabFolder
from kitlib.lab.lab import Graded
from kitlib.lab.progress import Progress

LABS = Path(__file__).parents[2] / "labs"
REAL = [
    folder
    for folder in (LabFolder.read(path.parent) for path in sorted(LABS.glob("*/lab.toml")))
    if "docker" in folder.definition.kernels
]
LONG = ("03-sidecar-oom",)


def actions(folder: LabFolder) -> dict[str, Callable[[Any], None]]:
    """What is tried: "" = the reference solution, else the words that the refusal must have."""
    answers = folder.answers()
    return {"": answers.reference, **({} if folder.name in LONG else answers.wrong)}


CASES = [
    pytest.param(folder, text, id=f"{folder.name}: {text or 'the solution'}")
    for folder in REAL
    for text in actions(folder)
]


class Patient:
    """The lab's cluster as `kubectl delete` treats it: what is deleted is waited for."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster

    def delete(self, kind: str, name: str, namespace: str = "default") -> None:
        self._cluster.delete(kind, name, namespace, grace=0)
        self._cluster.wait(lambda c: name not in [one.metadata.name for one in c.list(kind)], 30)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)


def attempt(folder: LabFolder, action: Callable[[Any], None], progress: Path) -> tuple[Graded, Graded]:
    """The grades before and after a learner does something."""
    lab = Lab(folder.path, "docker", progress=Progress(progress))
    try:
        assert lab.kernel == "docker"
        before = lab.check()
        action(Patient(lab.cluster))
        return before, lab.check()
    finally:
        lab.cluster.close()


@pytest.fixture(scope="module")
def attempts(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    with ThreadPoolExecutor(len(CASES)) as pool:
        begun: dict[tuple[str, str], Future[tuple[Graded, Graded]]] = {}
        for folder in reversed(REAL):  # the one that takes longest begins first
            for text, action in actions(folder).items():
                where = tmp_path_factory.mktemp("progress")
                begun[folder.name, text] = pool.submit(attempt, folder, action, where)
        yield begun


@pytest.mark.parametrize(("folder", "text"), CASES)
def test_a_lab_on_a_real_node(attempts: Any, folder: LabFolder, text: str) -> None:
    before, after = attempts[folder.name, text].result()
    assert not before.passed
    if text:
        assert not after.passed
        assert text in str(after), str(after)
    else:
        assert after.passed, str(after)
        assert after.score[0] > before.score[0]


def test_what_was_not_done_on_the_nodes_does_not_count(engine: str, tmp_path: Path) -> None:
    """A learner puts another cluster in the lab's place, in which all is well."""
    from kitlib.cluster import Cluster

    folder = REAL[0]
    lab = Lab(folder.path, "docker", progress=Progress(tmp_path))
    real = lab.cluster
    try:
        with Cluster.simulated(**folder.definition.cluster) as other:
            other.apply(folder.setup())
            folder.answers().reference(other)
            lab.cluster = other
            assert not lab.check().passed
    finally:
        real.close()
