"""A lab in a notebook: its cluster, checks, hints, predictions, and the progress bar.

lab = Lab("01-make-it-guaranteed")
lab.cluster.apply(...)
lab.check()
"""

from __future__ import annotations

import html
import os
import re
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from time import monotonic
from typing import Any, Literal

import msgspec

from kitlib.api.core import Pod
from kitlib.api.errors import KitError, NotFound
from kitlib.api.serialize import load, to_yaml
from kitlib.cluster.nodes.origin import origin_of
from kitlib.lab import kubectl, real_nodes, room
from kitlib.lab.certificate import Certificate, unsigned
from kitlib.lab.definition import Definition, Ground, LabFolder
from kitlib.lab.experiment import as_applied
from kitlib.lab.graded import Graded
from kitlib.lab.grader import Grade, both, grade, prepare, timed
from kitlib.lab.grading_process import grade_apart
from kitlib.lab.launch import course_source, in_course
from kitlib.lab.moved import plain
from kitlib.lab.prediction import Answer, Prediction, Reveal
from kitlib.lab.progress import Progress, record_grade
from kitlib.lab.score import Score, hint_cost, score, solved_in_one
from kitlib.lab.tables import Table, pods_table
from kitlib.lab.tally import Tally
from kitlib.lab.variant import check_seed, learners_seed
from kitlib.views.notebook import register

Kernel = Literal["docker", "simulated"]
_KERNELS = {"docker": "on real nodes", "simulated": "on the simulated kernel"}


class Lab:
    """A lab, read from its folder.

    Args:
        name: the lab's name with or without its number, its number, or the path of its folder.
        nodes: "docker" uses real nodes, if the lab supports them; time is real there. "kubernetes" does too, and its
            nodes are pods of the cluster in the kubeconfig. "" takes KITLIB_NODES. Other values mean the simulated
            kernel, whose time passes at once.
        seed: seed of the variant (names, numbers, victims); None = the room's (`kitlib room --seed`), else
            KITLIB_LAB_SEED, else the learner's own.
        progress: the file in which results are kept.

    Attributes:
        cluster: the cluster to work on, with the lab's setup on it. `lab.reset()` makes a new one. In `kitlib lab`,
            kubectl in a terminal and `%kubectl` reach it; their writes are graded like calls in Python.
        kernel: "docker" or "simulated".
        why: the reason for this kernel.
        seed: seed of the variant.
        variant: values of the variant.

    Raises:
        KitError: the lab does not exist, is closed for the room, has invalid files, or real nodes were requested and
            cannot be started.
    """

    def __init__(
        self, name: str | Path, nodes: str = "", *, seed: int | None = None, progress: Progress | None = None
    ) -> None:
        self._progress = progress or Progress()
        place, decided = _find(name).resolve(), room.current()
        decided.require_open(place.name)
        fixed = decided.seeds.get(plain(place.name)) if seed is None else check_seed(seed)
        self.seed = learners_seed(self._progress.path.parent) if fixed is None else fixed
        self._folder = LabFolder.read(place, self.seed)
        self.variant = self._folder.variant
        self._as_pods = real_nodes.as_pods(nodes)
        self._asked_real = (nodes or os.environ.get("KITLIB_NODES")) in ("docker", real_nodes.KUBERNETES)
        self._tally = Tally()
        self.kernel, self.why = _kernel(nodes, self._folder.definition)
        self._predictions = {
            p.key: Prediction(
                self._folder.name,
                p.key,
                p.question,
                choices=p.choices or None,
                unit=p.unit,
                tolerance=p.tolerance,
                progress=self._progress,
            )
            for p in self._folder.definition.predictions
        }
        self.cluster = self._prepare()
        self._served = kubectl.serve(self.cluster)
        self._progress.opened(self.name)
        register()

    @property
    def name(self) -> str:
        """The folder's name, `01-make-it-guaranteed`."""
        return self._folder.name

    @property
    def title(self) -> str:
        """The learner's goal."""
        return self._folder.definition.title

    def reset(self) -> Any:
        """Replace the cluster with a new one that has the lab's setup; the points are kept."""
        if self.kernel == "docker":
            self._tally.add(self._real)
        if self._served is not None:
            self._served.close()
        self.cluster.close()
        self.cluster = self._prepare()
        self._served = kubectl.serve(self.cluster)
        return self.cluster

    def _prepare(self) -> Any:
        real = self.kernel == "docker"
        self._real = made = prepare(self._folder, Ground(self.kernel, seed=self.seed), real=real, as_pods=self._as_pods)
        if real:
            made.waits_for_deleted = True  # as kubectl does; otherwise the next apply would find a terminating pod
        version = made.node(made.list("Node")[0].metadata.name).cgroupfs.version if real else 0
        self._ground = Ground(self.kernel, version, self.seed)
        # the machine's time, since the notebook could replace the cluster's clock
        self._began, self._since = made.clock.seconds, monotonic()
        return made

    def predict(self, key: str) -> Prediction:
        """Return the question with that key, to be answered before the check. Raises: KitError."""
        if key not in self._predictions:
            raise KitError(f"no prediction {key!r} in this lab; valid values: {', '.join(self._predictions)}")
        return self._predictions[key]

    def check(self, *tasks: str) -> Graded:
        """Check the tasks (default: all) on a replay of the actions on `cluster`, and keep the results.

        On real nodes, the nodes themselves are checked too; both must pass.

        Raises:
            KitError: a task does not exist, the grader could not run, or the lab is closed for the room.
        """
        room.current().require_open(self._folder.name)
        for key in tasks:
            self._folder.definition.task(key)
        journal, found = self._grade(tasks)
        changed = self._is_changed(found.digest)
        record_grade(self._progress, self._folder.name, found, journal, self._ground, changed=changed)
        return Graded(found, self.score, self._folder.definition, self._following(), self._origin())

    def _origin(self) -> str:
        """Return the real part of the lab as one line, if real nodes were requested."""
        if self.kernel != "docker":
            return self._not_real()
        tally = self._tally.with_open([self._real])
        tally.predictions = sum(prediction.answered for prediction in self._predictions.values())
        return str(tally)

    def _not_real(self) -> str:
        """Return why the lab does not run on the requested real nodes; "" = none were requested."""
        return f"Not on real nodes: {self.why}." if self._asked_real and self.kernel != "docker" else ""

    @property
    def score(self) -> Score:
        """The best and the last points of this lab, hints and predictions."""
        return score(self._progress, self.name, self._folder.definition)

    def _following(self) -> str:
        """Return path and title of the next lab; "" = none."""
        names = sorted(path.parent.name for path in self._folder.path.parent.glob("*/lab.toml"))
        after = [name for name in names if name > self.name]
        if not after:
            return ""
        title = LabFolder.read(self._folder.path.parent / after[0], self.seed).definition.title
        return f"labs/{after[0]}/lab.ipynb, {title}"

    def reveal(self, key: str) -> Reveal:
        """Return the observed answer to a prediction beside the learner's; it is shown once the learner has answered.

        Raises:
            KitError: the answer cannot be observed yet.
        """
        prediction = self.predict(key)
        _, found = self._grade(tuple(t.key for t in self._tasks()[:1]))
        if key not in found.observed:
            raise KitError(f"prediction {key}: cannot be observed yet; do the task first")
        why = next(p.why for p in self._folder.definition.predictions if p.key == key)
        return Reveal(prediction, _answer(found.observed[key]), why)

    def _grade(self, tasks: tuple[str, ...]) -> tuple[list[dict[str, Any]], Grade]:
        """Return the journal and its grade."""
        if self.kernel != "docker":
            journal, _ = self.done()
            return journal, grade_apart(self._folder, journal, tasks)
        passed = monotonic() - self._since
        live = grade(self._folder, self._real, tasks, self._real.now() - timedelta(seconds=passed))
        journal, ground = self.done()
        return journal, both(live, grade_apart(self._folder, journal, tasks, ground))

    def done(self) -> tuple[list[dict[str, Any]], Ground]:
        """Return the journal of the actions so far, in the form that a replay takes, and the conditions for it."""
        if self.kernel != "docker":
            return list(self.cluster.journal), self._ground
        return timed(self._real.journal, self._began, self._began + monotonic() - self._since), self._ground

    # ---- changing

    def manifest(self) -> str:
        """Return the setup's manifests that the learner edits, for `lab.replace`."""
        wanted = self._folder.definition.edit
        documents = self._folder.setup(self._ground).split("\n---\n")
        found = {}
        for document in documents:
            for item in load(document):
                found[f"{item.kind} {item.metadata.name}"] = document.strip()
        return "\n---\n".join(found[name] for name in wanted if name in found) + "\n"

    def replace(self, manifests: str, seconds: float = 10) -> None:
        """Apply manifests; pods of the same names are deleted first, since most of a pod's fields cannot change.

        Args:
            manifests: the manifests, YAML.
            seconds: seconds that pass afterwards, so that scheduler and kubelet can react.

        Raises:
            KitError: the manifests cannot be applied; the previous pods are created again.
        """
        before = []
        for made in load(manifests):
            if isinstance(made, Pod):
                try:
                    before.append(self.cluster.get("Pod", made.metadata.name, made.metadata.namespace or "default"))
                except NotFound:
                    continue
        for pod in before:
            self.cluster.delete(pod)
        if before:
            self.cluster.advance(1)
        # A pod whose process 1 ignores SIGTERM (`sleep`) keeps its name until its grace period is over.
        graces = [pod.metadata.deletion_grace_period_seconds or 0 for pod in map(self._standing, before) if pod]
        if graces:
            self.cluster.advance(max(graces) + 1)
        try:
            self.cluster.apply(manifests)
        except KitError:
            if before:
                self.cluster.apply([as_applied(pod) for pod in before])
            raise
        self.cluster.advance(seconds)

    def _standing(self, pod: Pod) -> Pod | None:
        """Return a deleted pod as it is now; None = it is gone."""
        try:
            now: Pod = self.cluster.get("Pod", pod.metadata.name, pod.metadata.namespace)
        except NotFound:
            return None
        return now if now.metadata.uid == pod.metadata.uid else None

    def edit(self) -> Any:
        """Return an editor with the manifests, and buttons: apply, let time pass, check, a hint for each task."""
        from kitlib.lab.workbench import workbench

        return workbench(self)

    # ---- looking

    def _subject(self) -> str:
        """Return the name of the first pod that the learner edits; "" = none."""
        names = [name.split() for name in self._folder.definition.edit]
        return next((name for kind, name in names if kind == "Pod"), "")

    def show(self, kind: str = "", name: str = "", namespace: str = "default") -> None:
        """Print an object's manifest with its status; "" = the object that the learner edits."""
        wanted = [(kind, name, namespace)] if kind else self._edited()
        print("---\n".join(to_yaml(self.cluster.get(*one)) for one in wanted))

    def _edited(self) -> list[tuple[str, str, str]]:
        """Return kind, name and namespace of the objects that the learner edits."""
        setup = {f"{item.kind} {item.metadata.name}": item.metadata for item in load(self._folder.setup(self._ground))}
        edited = self._folder.definition.edit
        return [(*one.split(), setup[one].namespace if one in setup else "default") for one in edited]  # type: ignore[misc]

    def pods(self) -> Table:
        """Return all pods as a table."""
        return pods_table(self.cluster)

    def tree(self, node: str = "") -> Any:
        """Return the cgroup tree of a node (default: the first), read from its files."""
        from kitlib.views import tree_view

        return tree_view(self._node(node).tree())

    def explain(self, pod: str = "", namespace: str = "default") -> Any:
        """Return the scheduler's decision about a pod now: every plugin's verdict on every node, and the message."""
        return self.cluster.explain(pod or self._subject(), namespace)

    def events(self, reason: str = "") -> Table:
        """Return a table of the cluster's events, oldest first, optionally only those with a reason.

        Events that follow each other and differ only in their object share a row.
        """
        from kitlib.views.frames import EVENT_COLUMNS, events_rows

        rows: list[dict[str, Any]] = []
        for _, alike in groupby(events_rows(self.cluster, reason), lambda row: {**row, "object": ""}):
            first, *others = alike
            rows.append({**first, "object": first["object"] + (f" and {len(others)} more" if others else "")})
        return Table(rows, EVENT_COLUMNS)

    def kernel_log(self, node: str = "") -> None:
        """Print a node's kernel log."""
        print("\n".join(map(str, self._node(node).kernel_log())))

    def explain_oom(self, node: str = "") -> Table:
        """Return every process of a node in the order in which the OOM killer would select them now."""
        from kitlib.views import oom_order_rows

        return Table(oom_order_rows(self._node(node)))

    def _node(self, name: str) -> Any:
        return self.cluster.node(name or self.cluster.list("Node")[0].metadata.name)

    def certificate(self, name: str) -> Certificate | str:
        """Return a page with the result once one attempt solves every task; an instructor confirms and signs it."""
        reached = self.score
        if reached.best + reached.cost < reached.of:
            return f"Not yet: {reached.best:g} of {reached.of:g} points. lab.check() says what is missing."
        if not solved_in_one(self._progress, self.name, self._folder.definition):
            return "Not yet: the tasks are solved in different attempts, and a certificate needs one that solves all."
        return Certificate(unsigned(name, self.name, reached.of, self.seed))

    def call_for_help(self, wanted: bool = True) -> str:
        """Call the trainer, or withdraw the call; the trainer's page shows it together with this cluster."""
        journal, ground = self.done()
        return self._progress.call_for_help(self.name, wanted, journal=journal, ground=msgspec.to_builtins(ground))

    # ---- hints

    def hint(self, task: str) -> str:
        """Return the next hint of a task, from vague to plain, and count it; after the last hint, repeat that."""
        hints = self._folder.definition.task(task).hints
        if not hints:
            return "There is no hint for this task: run lab.check() and read what was found."
        taken = self._progress.hints_taken(self._folder.name, task)
        number = min(taken, len(hints) - 1)
        self._progress.record("hint", self._folder.name, task, 0, 0, number=number + 1)
        return f"Hint {number + 1} of {len(hints)}: {hints[number]}"

    def price_of_a_hint(self) -> str:
        """Return the cost of a hint in words."""
        cost = hint_cost(self._folder.definition)
        return f"{cost:g} points" if cost else "free"

    def task_keys(self) -> tuple[str, ...]:
        """Return the keys of the tasks, for `check` and `hint`."""
        return tuple(task.key for task in self._tasks())

    def _tasks(self) -> tuple[Any, ...]:
        return self._folder.definition.tasks

    def _is_changed(self, digest: str) -> bool:
        try:
            packaged = course_source("labs") / self._folder.name
        except KitError:
            return False
        return packaged.is_dir() and LabFolder.read(packaged).digest() != digest

    def _repr_html_(self) -> str:
        definition, reached = self._folder.definition, self.score
        brief = "".join(f"<p>{_marked(part)}</p>" for part in _paragraphs(definition.brief))
        tasks = "".join(f"<li>{html.escape(t.title)} ({t.points:g})</li>" for t in definition.tasks)
        rules = "".join(f"<li>{html.escape(title)}</li>" for title in definition.rule_titles())
        return (
            f'<section class="kitlib-lab"><h3>{html.escape(definition.title)}</h3>{self._box()}{brief}'
            f"<p>{_marked(self._how())}</p><p>Tasks (points)</p>"
            f"<ol>{tasks}</ol>"
            f"<p>Rules</p><ul>{rules}</ul>"
            f"<p><small>Difficulty {'●' * definition.difficulty}{'○' * (3 - definition.difficulty)}, about "
            f"{definition.minutes} minutes, {_KERNELS[self.kernel]} ({html.escape(self.why)}), variant {self.seed}. "
            f"Hints: {self.price_of_a_hint()}.</small></p>"
            f'<p><meter max="{reached.of:g}" value="{reached.best:g}"></meter> best {reached.best:g} of '
            f"{reached.of:g} points</p></section>"
        )

    def __repr__(self) -> str:
        definition = self._folder.definition
        tasks = [f"  {t.key}: {t.title} ({t.points:g})" for t in definition.tasks]
        rules = [f"  rule: {title}" for title in definition.rule_titles()]
        kernel = self._not_real() or self._refused()
        return "\n".join(
            filter(None, [definition.title, kernel, *_paragraphs(definition.brief), self._how(), *tasks, *rules])
        )

    def _how(self) -> str:
        """Return the steps with kubectl and in Python, as one paragraph."""
        ways = self._folder.definition.commands()
        steps, force = ". ".join(map(str, ways)), "replace --force"
        command = force if any(force in way.kubectl for way in ways) else "apply"
        return f"{steps}. In a cell, `%%kubectl {command} -f -` takes the manifests below it." if steps else ""

    def _refused(self) -> str:
        """Return the refusals of the host of the lab's real nodes."""
        return origin_of(self._real).refused if self.kernel == "docker" else ""

    def _box(self) -> str:
        said = self._not_real() or self._refused()
        return f'<p role="status"><b>{html.escape(said)}</b></p>' if said else ""


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def _marked(text: str) -> str:
    """Return a paragraph as HTML: text between backquotes as code, between double asterisks bold."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))
    return re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", text)


def _kernel(wish: str, definition: Definition) -> tuple[Kernel, str]:
    """Return the kernel on which a lab is done, and the reason."""
    asked = wish or os.environ.get("KITLIB_NODES") or "simulated"
    if asked not in ("auto", "docker", "simulated", real_nodes.KUBERNETES):
        raise KitError(f"nodes {asked!r}: choose one of auto, docker, kubernetes, simulated")
    if asked not in ("docker", real_nodes.KUBERNETES):
        return "simulated", "a lab's time passes on a clock of its own"
    if "docker" not in definition.kernels:
        return "simulated", f"this lab needs what only the simulated kernel gives: {definition.why_simulated}"
    if asked == real_nodes.KUBERNETES:
        return "docker", real_nodes.WHY
    if definition.docker.cpus > 1:
        from kitlib.node.real import engine

        client = engine.connect()
        have = int(client.info().get("NCPU") or 0)
        client.close()
        if have < definition.docker.cpus:
            return "simulated", f"on real nodes this lab needs {definition.docker.cpus} CPUs, the engine has {have}"
    return "docker", "chosen by hand"


def _answer(value: Any) -> Answer:
    return value if isinstance(value, str | int | float) else msgspec.json.encode(value).decode()


def _find(name: str | Path) -> Path:
    path = Path(name)
    if (path / "lab.toml").exists():
        return path
    return in_course("labs", str(name))
