"""kubectl in a notebook: tables become frames, the lesson's cluster answers while a cell waits, time stands still."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.lab import kubectl
from kitlib.lab.lesson import Lesson
from tests.apiserver.http.clients import binaries

PODS = """\
NAMESPACE   NAME                 READY   STATUS             RESTARTS       AGE   NOMINATED NODE
default     web-1                1/1     Running            0              3m    <none>
kube-it     a-very-long-name-2   0/1     CrashLoopBackOff   3 (22s ago)    59s   <none>
"""


def test_columns_begin_below_their_names() -> None:
    names, rows = kubectl.parse_table(PODS)
    assert names == ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE", "NOMINATED NODE"]
    assert rows[1] == ["kube-it", "a-very-long-name-2", "0/1", "CrashLoopBackOff", "3 (22s ago)", "59s", "<none>"]


def test_a_table_is_a_frame_and_several_are_several() -> None:
    made = kubectl.frame(PODS)
    assert list(made["STATUS"]) == ["Running", "CrashLoopBackOff"]
    assert [len(one) for one in kubectl.frame(f"{PODS}\n{PODS}")] == [2, 2]
    assert kubectl.frame("") is None


def test_without_kubectl_it_is_said_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(KitError, match=r"Ubuntu +sudo snap install kubectl(.|\n)*Windows"):
        kubectl.kubectl("get pods")


def test_terminals_and_kernels_are_told_one_file(tmp_path: Path) -> None:
    made = kubectl.environment(tmp_path)
    assert made == {"KITLIB_KUBECONFIG": str(tmp_path / kubectl.FILE), "KUBECONFIG": str(tmp_path / kubectl.FILE)}
    assert kubectl.is_wanted(made) and not kubectl.is_wanted({})


def test_a_lessons_cluster_is_served_until_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config"
    monkeypatch.setenv("KITLIB_KUBECONFIG", str(file))
    lesson = Lesson("n01", "simulated")
    lesson.cluster(1)
    first = file.read_text()
    lesson.cluster(2)
    assert file.read_text() != first
    lesson.close()
    assert not file.exists()


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A shell of IPython with a lesson, and the real kubectl."""
    from IPython.core.interactiveshell import InteractiveShell

    programs = binaries()
    assert programs is not None, "the package with kubectl and helm is not installed"
    for name, value in kubectl.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance()
    run(made, "from kitlib.lab.lesson import Lesson\nlesson = Lesson('n01', 'simulated')\ncluster = lesson.cluster(1)")
    try:
        yield made
    finally:
        run(made, "lesson.close()")
        InteractiveShell.clear_instance()


def run(shell: Any, cell: str) -> Any:
    result = shell.run_cell(cell)
    result.raise_error()
    return result.result


@pytest.mark.kubectl
def test_cells_talk_to_the_lessons_cluster(shell: Any) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: x}]}\n"
    run(shell, f"%%kubectl apply -f -\n{pod}")
    assert run(shell, "cluster.pod('web').status.phase") == "Running"
    assert list(run(shell, "%kubectl get pods")["NAME"]) == ["web"]
    before = run(shell, "cluster.clock.seconds")
    lines = run(shell, "lines = !kubectl get pods -o name\nlist(lines)")
    assert lines == ["pod/web"]
    run(shell, "%kubectl delete pod web")
    assert run(shell, "cluster.list('pods')") == []
    assert run(shell, "cluster.clock.seconds") - before < 60
    with pytest.raises(KitError, match='pods "web" not found'):
        run(shell, "%kubectl get pod web")
