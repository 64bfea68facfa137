"""The enforcement labs on real nodes: the solution passes, the untouched start and what learners try first do not.

In the gate a lab has its solution and two of its wrong answers, by night all of them (KITLIB_NIGHTLY=1). On the
simulated kernel the default tests try every one (tests/lab/test_labs.py).

Here a minute is a minute. So every attempt has a node of its own and they run side by side, as many as the machine has
memory for; a wrong answer is waited for only until the check says what is wrong with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.lab import Lab
from kitlib.lab.definition import Ground, LabFolder
from kitlib.lab.grader import grade
from kitlib.lab.lab import Graded
from kitlib.lab.progress import Progress
from tests.engine.helpers import SLOW
from tests.sizes import NIGHTLY

pytestmark = pytest.mark.xdist_group("labs")  # their attempts share one process
LABS = Path(__file__).parents[2] / "labs"
REAL = {
    folder.name: folder
    for folder in (LabFolder.read(path.parent) for path in sorted(LABS.glob("*/lab.toml")))
    if "docker" in folder.definition.kernels
}
FIRST, SIDECAR = "01-make-it-guaranteed", "03-sidecar-oom"
SCHEDULED = {"12-bad-zone"}
"""Labs about the scheduler: what it decides is in the API."""
AT_ONCE = 6 if SLOW == 1 else 2
USES = {SIDECAR: 300, "04-let-the-right-one-die": 1200, "05-the-wrong-pod-is-evicted": 1100}
"""MiB that a node of that lab really takes; others take little."""
LOOK = 2.0
"""Seconds between two looks of a learner who waits."""


def actions(folder: LabFolder) -> dict[str, Callable[[Any], None]]:
    """What is tried: "" = the reference solution, else the words that the refusal must have."""
    answers = folder.answers(Ground("docker"))
    return {"": answers.reference, **{one.says: one.act for one in answers.wrong if one.real}}


def tried(folder: LabFolder) -> list[str]:
    """Return the solution and the refusals to be met: all by night, else the first one and one from the middle."""
    solution, *wrong = actions(folder)
    return [solution, *(wrong if NIGHTLY or len(wrong) < 2 else (wrong[0], wrong[len(wrong) // 2]))]


CASES = [(folder.name, text) for folder in REAL.values() for text in tried(folder)]


class Patient:
    """The lab's cluster for a test that does not wait longer than needed.

    Args:
        cluster: of the lab.
        enough: whether there is nothing more to wait for.
    """

    def __init__(self, cluster: Any, enough: Callable[[], bool]) -> None:
        self._cluster, self._enough = cluster, enough

    def delete(self, kind: str, name: str, namespace: str = "default") -> None:
        self._cluster.delete(kind, name, namespace, grace=0)

    def advance(self, seconds: float) -> None:
        left = seconds * min(SLOW, 3)
        while left > 0 and not self._enough():
            self._cluster.advance(min(LOOK, left))
            left -= LOOK

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)


class Memory:
    """MiB that attempts may use together."""

    def __init__(self) -> None:
        lines = Path("/proc/meminfo").read_text().splitlines()
        available = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
        self._left, self._changed = max(available * 6 // 10240, max(USES.values())), threading.Condition()

    @contextmanager
    def take(self, wanted: int) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: self._left >= wanted)
            self._left -= wanted
        try:
            yield
        finally:
            with self._changed:
                self._left += wanted
                self._changed.notify_all()


@contextmanager
def opened(name: str, progress: Path) -> Iterator[Lab]:
    """A lab on a node of its own."""
    lab = Lab(REAL[name].path, "docker", seed=0, progress=Progress(progress))
    real = lab.cluster
    try:
        assert lab.kernel == "docker"
        yield lab
    finally:
        real.close()


def attempt(name: str, text: str, progress: Path, memory: Memory) -> tuple[Graded, Graded, Lab]:
    """The grades before and after a learner does something."""
    folder = REAL[name]

    def enough() -> bool:
        """The solution is waited for as long as it says: the replay needs that time, too."""
        with suppress(KitError):
            return bool(text) and text in "\n".join(map(str, grade(folder, lab.cluster, (), began).results))
        return False

    with memory.take(USES.get(name, 150)), opened(name, progress) as lab:
        began = lab.cluster.now()
        before = lab.check()
        actions(folder)[text](Patient(lab.cluster, enough))
        with suppress(KitError):  # on a busy machine some things take longer than a learner waits
            lab.cluster.wait(lambda _: text or grade(folder, lab.cluster, (), began).passed, 60)
        return before, lab.check(), lab


# Tricks: ways to pass without solving the task.


def another_cluster(lab: Lab) -> None:
    """One in which all is well, in the lab's place."""
    from kitlib.cluster import Cluster

    folder = REAL[lab.name]
    other = Cluster.simulated(**folder.definition.cluster)
    other.apply(folder.setup())
    folder.answers(Ground("docker")).reference(other)
    lab.cluster = other


def a_status_of_ones_own(lab: Lab) -> None:
    """The pod's class is written into the store, and its node's tree is another."""
    pod = lab.cluster.get("Pod", "web")
    pod.status.qos_class = "Guaranteed"
    for container in pod.spec.containers:
        container.resources.limits = container.resources.requests = {}
    lab.cluster.api.update_status(pod)


def another_checker(lab: Lab) -> None:
    """The functions that say what is wrong say nothing."""
    from kitlib.lab import checks, grader

    patch = pytest.MonkeyPatch()
    patch.setattr(grader, "_one", lambda task, check, facts: grader.TaskResult(
        task=task.key, title=task.title, points=task.points, of=task.points, passed=True))  # fmt: skip
    patch.setattr(checks.Facts, "expect", lambda *_, **__: None)
    lab.undo = patch.undo  # type: ignore[attr-defined]


def a_forged_journal(lab: Lab) -> None:
    """The solution stands in the journal and was never done."""
    from kitlib.lab.grader import prepare

    folder = REAL[lab.name]
    other = prepare(folder, Ground("docker"))
    folder.answers(Ground("docker")).reference(other)
    lab.cluster.journal.extend({**entry, "at": lab.cluster.clock.seconds} for entry in other.journal)


def a_clock_that_is_ahead(lab: Lab) -> None:
    """The solution, and a clock that says that its time has passed."""
    from datetime import timedelta

    lab.replace(lab.manifest().replace("memory: 32Mi", "memory: 96Mi"), seconds=8)
    real = lab.cluster.clock
    lab.cluster.clock = SimpleNamespace(
        seconds=real.seconds + 300, now=lambda: real.now() + timedelta(seconds=300), move=real.move
    )


def time_in_the_journal(lab: Lab) -> None:
    """The clock is ahead, and the journal says so, too."""
    a_clock_that_is_ahead(lab)
    lab.cluster.journal.record("advance", seconds=300, at=lab.cluster.clock.seconds)


TRICKS: dict[str, list[Callable[[Lab], None]]] = {
    FIRST: [another_cluster, a_status_of_ones_own, another_checker, a_forged_journal],
    SIDECAR: [a_clock_that_is_ahead, time_in_the_journal],
}


def tricked(name: str, trick: Callable[[Lab], None], progress: Path, memory: Memory) -> Graded:
    """The grade that a trick gets."""
    with memory.take(USES.get(name, 150)), opened(name, progress) as lab:
        trick(lab)
        return lab.check()


@pytest.fixture(scope="module")
def attempts(
    engine: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[tuple[str, str], Future[Any]]]:
    tests = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    chosen = {(one["name"], one.get("text", one.get("trick"))) for one in tests if "name" in one}
    memory = Memory()
    solutions = sorted(REAL, key=lambda name: -USES.get(name, 0) - 10_000 * (name == SIDECAR))
    order = [(name, "") for name in solutions] + [case for case in CASES if case[1]]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        begun: dict[tuple[str, str], Future[Any]] = {}
        for name, text in order:  # what takes longest begins first
            if (name, text) in chosen:
                begun[name, text] = pool.submit(attempt, name, text, tmp_path_factory.mktemp("progress"), memory)
        for name, tricks in TRICKS.items():
            for trick in tricks:
                if (name, trick.__name__) in chosen:  # another_checker is not: it changes this very process
                    where = tmp_path_factory.mktemp("progress")
                    begun[name, trick.__name__] = pool.submit(tricked, name, trick, where, memory)
        yield begun
        for one in begun.values():
            one.cancel()


@pytest.mark.parametrize(("name", "text"), [pytest.param(*c, id=f"{c[0]}: {c[1] or 'the solution'}") for c in CASES])
def test_a_lab_on_a_real_node(attempts: Any, name: str, text: str) -> None:
    before, after, lab = attempts[name, text].result()
    assert not before.passed
    if text:
        assert not after.passed
        assert text in str(after), str(after)
    else:
        assert after.passed, str(after)
        assert after.score[0] > before.score[0]
        seen = [one["kind"] for result in after.results for one in result.evidence]
        assert name in SCHEDULED or {"cgroup file", "Cpus_allowed_list", "kernel log"} & set(seen), seen
        assert lab.done()[1].cgroup_version in (1, 2)


@pytest.mark.parametrize(
    ("name", "trick"),
    [
        pytest.param(name, t.__name__, id=t.__name__)
        for name, some in TRICKS.items()
        for t in some
        if t is not another_checker
    ],
)
def test_a_trick_passes_no_task(attempts: Any, name: str, trick: str) -> None:
    graded = attempts[name, trick].result()
    assert not graded.passed
    if name == FIRST:
        assert not any(result.passed for result in graded.results), str(graded)


def test_another_checker_in_the_notebook_does_not_pass(engine: str, attempts: Any, tmp_path: Path) -> None:
    for one in attempts.values():
        one.exception()  # they are checked in this process, which must be as it is
    with opened(FIRST, tmp_path) as lab:
        another_checker(lab)
        try:
            assert not lab.check().passed
        finally:
            lab.undo()  # type: ignore[attr-defined]
