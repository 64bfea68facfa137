"""A lesson's and a lab's real nodes are pods where KITLIB_NODES says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kitlib.api.errors import KitError
from kitlib.lab.lab import Lab
from kitlib.lab.lesson import Lesson, choose_kernel
from kitlib.lab.progress import Progress
from tests.cluster.nodes.hosting import NAMESPACE, Hosting, hosting


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hosting]:
    with hosting(monkeypatch, tmp_path) as made:
        monkeypatch.setenv("KUBECONFIG", str(made.kubeconfig))
        monkeypatch.setenv("KITLIB_NODES", "kubernetes")
        monkeypatch.setenv("KITLIB_NODES_NAMESPACE", NAMESPACE)
        monkeypatch.setenv("KITLIB_NODE_IMAGE", "nodes:1")
        yield made


def test_a_lesson_makes_its_nodes_as_pods(host: Hosting, tmp_path: Path) -> None:
    assert choose_kernel() == ("docker", "real nodes are pods of a Kubernetes cluster, as was asked for")
    lesson = Lesson("01", progress=Progress(tmp_path))
    try:
        lesson.cluster(2, cpus=1, memory="256Mi")
        assert [pod.spec.containers[0].image for pod in host.pods()] == ["nodes:1"] * 2
    finally:
        lesson.close()
    assert host.pods() == []


def test_a_notebook_that_names_kubernetes_gets_pods_wherever_an_engine_answers(
    host: Hosting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITLIB_NODES", "simulated")
    lesson = Lesson("01", "kubernetes", progress=Progress(tmp_path))
    try:
        assert lesson.cluster(1, cpus=1, memory="256Mi") and len(host.pods()) == 1
        assert lesson.processors(3) == 3 and not lesson.has_systemd()
        assert repr(lesson).startswith("01-a-pod-becomes-cgroup-files: Real nodes as pods of a Kubernetes cluster (")
    finally:
        lesson.close()
    assert host.pods() == []


def test_a_kernel_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(KitError, match="'podman': choose one of auto, docker, kubernetes, simulated"):
        choose_kernel("podman")


def test_a_lab_that_needs_the_simulated_kernel_keeps_it(host: Hosting, tmp_path: Path) -> None:
    lab = Lab("09-pending-three-reasons", progress=Progress(tmp_path))
    assert lab.kernel == "simulated" and host.pods() == []
