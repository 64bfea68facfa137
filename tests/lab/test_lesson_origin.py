"""A lesson states the origin of its values: refusals in its box, simulated clusters by name, one line at its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kitlib.cluster import Cluster
from kitlib.cluster.nodes.host_load import HostTime
from kitlib.cluster.nodes.origin import HostRefusal, Origin
from kitlib.cluster.nodes.simulated import SimulatedNode
from kitlib.lab import Lesson, cpu_used, wait_until_running
from kitlib.lab import lesson as room
from kitlib.lab import pod as pod_of
from kitlib.lab.lessons import content
from kitlib.lab.progress import Progress

Make = Callable[..., Lesson]
REFUSED = (HostRefusal("oom_score_adj", "no oom_score_adj below 0 is granted"),)
CPU = "03-cpu-shares-quota-throttling"


@pytest.fixture
def made(tmp_path: Path) -> Make:
    return lambda *args, name="test": Lesson(name, *args, progress=Progress(tmp_path))


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make simulated nodes claim to be real, with a host that refused something."""

    def origin(node: SimulatedNode) -> Origin:
        return replace(Origin("real", 1, (node.name,), "6.18"), refusals=REFUSED)

    monkeypatch.setattr(SimulatedNode, "origin", property(origin))
    monkeypatch.setattr(Cluster, "docker", staticmethod(Cluster.simulated))


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(room, "_show", lambda lesson: found.append(str(lesson)))
    return found


def test_what_the_host_refused_stands_in_the_box_and_is_shown_once(made: Make, real: None, shown: list[str]) -> None:
    lesson = made("docker")
    lesson.stage()
    lesson.cluster()
    lesson.cluster()
    assert len(shown) == 1 and shown[0].endswith("Refused by the host: no oom_score_adj below 0 is granted.")
    assert "Refused by the host" in lesson._repr_html_()
    lesson.close()


def test_a_real_stage_ends_when_the_lessons_cluster_begins(made: Make, real: None, shown: list[str]) -> None:
    lesson = made("docker")
    stage = lesson.stage()
    cluster = lesson.cluster()
    assert stage.closed and not cluster.closed
    other = lesson.stage()
    assert not cluster.closed
    lesson.close()
    assert other.closed and cluster.closed


def test_a_simulated_stage_stays_as_long_as_the_lesson(made: Make) -> None:
    lesson = made("simulated")
    stage = lesson.stage([{"name": "n", "cpus": 3}])
    lesson.cluster()
    assert not stage.closed and stage.node("n").config.machine.cores == 3
    lesson.close()
    assert stage.closed


def test_a_simulated_cluster_of_a_real_lesson_says_so_once_for_each_reason(
    made: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    lesson = made("docker")
    for version in (1, 2):
        assert lesson.simulated("both versions are compared", cgroup_version=version).node().cgroupfs.version == version
    assert capsys.readouterr().out == "Simulated here, not on your real nodes: both versions are compared.\n"
    lesson.simulated("a machine of 64 CPUs is not at hand")
    assert capsys.readouterr().out.count("Simulated here") == 1
    assert "simulated: 3 clusters" in str(lesson.done())
    made("simulated").simulated("both versions are compared")
    assert capsys.readouterr().out == ""


def test_the_cgroup_version_is_known_before_there_is_a_node(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    assert made("simulated").cgroup_version == 2
    monkeypatch.setattr("kitlib.cluster.engine_cgroup_version", lambda: 1)
    assert (made("docker").cgroup_version, made("kubernetes").cgroup_version) == (1, 2)
    monkeypatch.setattr("kitlib.cluster.engine_cgroup_version", lambda: 0)
    assert made("docker").cgroup_version == 2


def test_a_measurement_on_a_busy_host_says_so_with_the_figures_and_with_the_answer(
    made: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The host's other processes take three quarters of two processors, in every second."""

    def host_time(node: SimulatedNode) -> HostTime:
        now = node.kernel.now
        return HostTime(now, 0.25 * now, {"0": now, "1": 0.75 * now})

    monkeypatch.setattr(SimulatedNode, "host_time", host_time)
    said = "The host was busy: other processes used 75% of the CPU time. Run this again."
    lesson = made("simulated", name=CPU)
    cluster = lesson.cluster([{"name": "n", "cpus": 2}])
    cluster.apply(pod_of("a", busy=1))
    wait_until_running(cluster)
    cluster.advance(4)
    cpu_used(cluster)
    assert capsys.readouterr().out == f"{said}\n"
    for key, answer in (("idle", "200"), ("quiet", "46.5")):
        lesson.ask(key).answer(answer)
    assert said in str(lesson.reveal("idle", 88))
    assert "The host" not in str(lesson.reveal("quiet", 46.5))  # nothing is measured for this one
    assert str(lesson.done()).endswith("2 predictions compared")
    lesson.close()


@pytest.mark.parametrize("name", [CPU, "18-throttled-at-20-percent"])
def test_questions_about_measured_cpu_are_marked(name: str) -> None:
    units = {q.unit for q in content(name).questions.values() if q.measured}
    assert units & {"milli-CPU", "%"}


def test_the_end_says_what_was_there(made: Make) -> None:
    lesson = made("simulated")
    lesson.cluster()
    end: Any = lesson.done()
    assert str(end).splitlines()[-1] == "simulated: 1 cluster"
    assert "<br>simulated: 1 cluster" in end._repr_html_()
    lesson.close()
