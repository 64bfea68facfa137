"""Grade a lab by a replay of its journal: the variables of the notebook cannot change the result.

The notebook sends the journal of the learner's actions (apply, delete, write, advance), in Python and by kubectl. The
grader builds a fresh cluster from the lab's definition, applies the setup, replays the journal and runs the checks
there. Simulated clusters are deterministic, so the replay reaches the learner's state. A journal holds only actions
that a learner may do, so a forged journal that passes solves the task too. `kitlib.lab.grading_process` runs the grader
in a separate process.

On real nodes the checks run against the nodes first, and then against a replay with the same durations; both must
pass.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import msgspec

from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject
from kitlib.api.serialize import load, to_dict
from kitlib.controllers.deployment.util import LAST_APPLIED
from kitlib.lab.checks import Facts, Wrong
from kitlib.lab.definition import SIMULATED, Ground, LabFolder, TaskSpec
from kitlib.lab.experiment import Experiment
from kitlib.lab.history import History
from kitlib.lab.real_nodes import real_cluster
from kitlib.lab.rules import RuleResult, judge

MAX_JOURNAL = 20_000
STOPPED = "the check stopped with"
"""Beginning of the result of a check that raised an exception other than `Wrong`."""


class TaskResult(msgspec.Struct, frozen=True, kw_only=True):
    """The grade of one task.

    Attributes:
        task: the task's key.
        title: the task's title.
        points: earned points.
        of: possible points.
        passed: whether the task is solved completely.
        found: the observed state; "" if the task passed.
        expected: the required state; "" if the task passed.
        hint: the next step; "" if the task passed.
        evidence: the objects and files that the check read.
        remarks: remarks to the learner although the task passed.
    """

    task: str
    title: str
    points: float
    of: float
    passed: bool
    found: str = ""
    expected: str = ""
    hint: str = ""
    evidence: tuple[dict[str, Any], ...] = ()
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.passed:
            return "\n  but: ".join((f"✓ {self.title} ({self.points:g}/{self.of:g})", *self.remarks))
        hint = f"\n  Next: {self.hint}" if self.hint else ""
        return f"✗ {self.title} ({self.points:g}/{self.of:g})\n  found {self.found}\n  expected {self.expected}{hint}"


class Grade(msgspec.Struct, frozen=True, kw_only=True):
    """All results of one grading, and the observed values of the predictions.

    Attributes:
        lab: the lab's name.
        digest: SHA-256 of the files that determine the grade.
        results: one result for each task.
        rules: one result for each rule; () = not judged (real nodes: their replay is).
        touched: whether the journal has an action other than waiting.
        observed: prediction -> observed value; without those that cannot be observed yet.
    """

    lab: str
    digest: str
    results: tuple[TaskResult, ...]
    rules: tuple[RuleResult, ...] = ()
    touched: bool = True
    observed: dict[str, Any] = {}

    @property
    def passed(self) -> bool:
        """Whether every task passed."""
        return all(result.passed for result in self.results)


def grade(
    folder: LabFolder,
    cluster: Any,
    tasks: tuple[str, ...] = (),
    began: datetime | None = None,
    history: History | None = None,
) -> Grade:
    """Run the checks against a cluster; checks that let time pass run last.

    Args:
        folder: the lab.
        cluster: the cluster in the learner's final state.
        tasks: keys of the tasks to grade; () = all.
        began: the learner's start on the cluster's clock; None = when a simulated cluster had settled.
        history: the changes since then; None = rules are not judged.
    """
    began = began or cluster.clock.start + timedelta(seconds=folder.definition.settle)
    # Controllers create the setup's pods when settling begins; the learner's pods come after it has ended.
    set_up = began - timedelta(seconds=folder.definition.settle / 2)
    checks, wanted = folder.checks(), tasks or tuple(t.key for t in folder.definition.tasks)
    journal = list(cluster.journal)
    touched = any(entry["action"] != "advance" for entry in journal)
    definition = folder.definition
    about = {task.key: task.about for task in definition.tasks}
    rules = judge(definition.rules, history, journal, checks.rules, definition.opens, about) if history else ()
    results: dict[str, TaskResult] = {}
    needed = {need for key in wanted for need in folder.definition.task(key).needs}
    for key in sorted({*wanted, *needed}, key=lambda key: (key in checks.trials, key)):
        kind = Experiment if key in checks.trials else Facts
        facts = kind(cluster, set_up, folder.variant, history)
        found = _one(folder.definition.task(key), checks.tasks[key], facts)
        results[key] = _guarded(found, rules) if touched else _untouched(found)
    observed: dict[str, Any] = {}
    for prediction in folder.definition.predictions:
        if prediction.key not in checks.at_start:
            with suppress(Wrong):  # it cannot be observed yet
                observed[prediction.key] = checks.predictions[prediction.key](Facts(cluster, set_up, folder.variant))
    if history is not None:
        for key, (situation, function) in checks.seconds.items():
            if key in results and results[key].passed and touched:
                facts = Experiment(cluster, set_up, folder.variant, history)
                results[key] = _again(results[key], _one(definition.task(key), function, facts), situation)
    titles = {
        key: [
            folder.definition.task(need).title for need in folder.definition.task(key).needs if not results[need].passed
        ]
        for key in wanted
    }
    results |= {key: _missing(results[key], unsolved[0]) for key, unsolved in titles.items() if unsolved and touched}
    return Grade(
        lab=folder.name,
        digest=folder.digest(),
        results=tuple(results[key] for key in wanted),
        rules=rules,
        touched=touched,
        observed=observed,
    )


def _guarded(result: TaskResult, rules: Iterable[RuleResult]) -> TaskResult:
    """Return a task's result without points if a rule that guards it is broken; the rule is named either way."""
    broken = next((rule for rule in rules if not rule.kept and rule.guards(result.task)), None)
    if broken is None:
        return result
    return _without_points(result, f"solved, but a rule is broken: {broken.found}", broken.title, broken.hint)


def _again(result: TaskResult, second: TaskResult, situation: str) -> TaskResult:
    """Return a solved task's result after its second situation has run."""
    evidence = result.evidence + second.evidence
    if second.passed:
        return msgspec.structs.replace(result, evidence=evidence)
    found = second.found if second.found.startswith(STOPPED) else f"{situation}: {second.found}"
    return msgspec.structs.replace(second, found=found, evidence=evidence)


def _missing(result: TaskResult, title: str) -> TaskResult:
    """Return a result without points, because a task that this one needs is not solved.

    A task with `needs` may hold without any work.
    """
    return _without_points(result, "this alone gives no points", f"first: {title}", "it counts together with that task")


def _without_points(result: TaskResult, found: str, expected: str, hint: str) -> TaskResult:
    """Return a result with zero points; only a task that passed gets the given explanation."""
    if not result.passed:
        return msgspec.structs.replace(result, points=0.0)
    return msgspec.structs.replace(
        result, points=0.0, passed=False, found=found, expected=expected, hint=hint, remarks=()
    )


def _untouched(result: TaskResult) -> TaskResult:
    """Return a result without points, and without a hint at the solution, since the learner changed nothing."""
    return msgspec.structs.replace(
        result,
        points=0.0,
        passed=False,
        found="nothing has been changed yet",
        expected=result.title,
        hint=f'look at what is there first, then change it; lab.hint("{result.task}") gives a hint',
        remarks=(),
    )


def _observed_at_start(folder: LabFolder, ground: Ground) -> dict[str, Any]:
    """Return the predictions that are observed at the start, each on its own fresh cluster."""
    checks, found = folder.checks(), dict[str, Any]()
    for prediction in folder.definition.predictions:
        if prediction.key in checks.at_start:
            with suppress(Wrong):
                experiment = Experiment(prepare(folder, ground), None, folder.variant)
                found[prediction.key] = checks.predictions[prediction.key](experiment)
    return found


def _one(task: TaskSpec, check: Any, facts: Facts) -> TaskResult:
    made = TaskResult(task=task.key, title=task.title, points=task.points, of=task.points, passed=True)
    try:
        check(facts)
    except Wrong as wrong:
        points = round(task.points * min(max(wrong.credit, 0.0), 1.0), 3)
        hint = wrong.hint or (task.hints[0] if task.hints else "")
        made = msgspec.structs.replace(
            made, points=points, passed=False, found=wrong.found, expected=wrong.expected, hint=hint
        )
    except Exception as error:  # an error in one check must not affect the other results
        made = msgspec.structs.replace(
            made,
            points=0.0,
            passed=False,
            found=f"{STOPPED} {type(error).__name__}: {error}",
            expected=task.title,
            hint="this is a mistake of the lab: report it together with your manifest",
        )
    return msgspec.structs.replace(made, evidence=tuple(facts.evidence), remarks=tuple(facts.remarks))


def prepare(folder: LabFolder, ground: Ground = SIMULATED, *, real: bool = False, as_pods: bool = False) -> Any:
    """Return a fresh cluster with nodes and setup, after the seconds that the lab settles.

    Args:
        folder: the lab.
        ground: the conditions to reproduce.
        real: whether to start real nodes; else simulated nodes of the same size are used.
        as_pods: whether real nodes are pods of a Kubernetes cluster.

    Raises:
        KitError: real nodes cannot be started.
    """
    from kitlib.cluster import Cluster

    arguments = folder.cluster(ground, real=real)
    cluster: Any = real_cluster(as_pods=as_pods, **arguments) if real else Cluster.simulated(**arguments)
    try:
        setup = folder.setup(ground)
        if setup:
            cluster.apply([_as_by_kubectl(item) for item in load(setup)])
        cluster.advance(folder.definition.settle)
    except BaseException:
        cluster.close()
        raise
    # A journal begins with the learner's first action: a replay applies the setup itself.
    cluster.journal.clear()
    return cluster


def _as_by_kubectl(obj: KubeObject) -> KubeObject:
    """Return an object of the setup with the annotation of `kubectl apply`, by which a later one removes fields.

    A pod has none: its fields cannot be removed.
    """
    if obj.kind != "Pod":
        manifest = json.dumps(to_dict(obj), separators=(",", ":")) + "\n"
        obj.metadata.annotations = {**obj.metadata.annotations, LAST_APPLIED: manifest}
    return obj


def timed(journal: Iterable[dict[str, Any]], began: float, now: float) -> list[dict[str, Any]]:
    """Convert a journal of real nodes for a simulated cluster: elapsed time becomes explicit `advance` steps.

    Args:
        journal: entries with `at`, seconds on the cluster's clock; a time after `now` counts as `now`.
        began: the start of the learner's work, seconds on the same clock.
        now: the end of the replay, seconds on the same clock.
    """
    made: list[dict[str, Any]] = []
    reached = began
    for entry in [*journal, {"action": "advance", "at": now}]:
        at = min(float(entry.get("at", reached)), now)
        if at > reached:
            made.append({"action": "advance", "seconds": round(at - reached, 3)})
            reached = at
        if entry["action"] != "advance":
            made.append({key: value for key, value in entry.items() if key != "at"})
    return made


def both(live: Grade, replayed: Grade) -> Grade:
    """Combine the grades of real nodes and of their replay: a task passes only if both pass."""
    again = {result.task: result for result in replayed.results}
    results = []
    for seen in live.results:
        other = again[seen.task]
        if (seen.passed and not other.passed) or not replayed.touched:
            seen = msgspec.structs.replace(other, evidence=seen.evidence + other.evidence)
        results.append(seen)
    return msgspec.structs.replace(
        live,
        results=tuple(results),
        rules=replayed.rules,
        touched=replayed.touched,
        observed={**replayed.observed, **live.observed},
        digest=replayed.digest,
    )


def grade_journal(
    folder: LabFolder, journal: list[dict[str, Any]], tasks: tuple[str, ...] = (), ground: Ground = SIMULATED
) -> Grade:
    """Replay a learner's journal on a fresh cluster and grade that.

    Raises:
        KitError: the journal is too long, or has an entry that cannot be replayed.
    """
    if len(journal) > MAX_JOURNAL:
        raise KitError(
            f"lab {folder.name}: the journal has {len(journal)} entries, but at most {MAX_JOURNAL} can be replayed"
        )
    cluster = prepare(folder, ground)
    history = History(cluster)
    cluster.replay(journal)
    history.stop()
    found = grade(folder, cluster, tasks, None, history)
    return msgspec.structs.replace(found, observed={**_observed_at_start(folder, ground), **found.observed})
