"""A lab on disk: one folder, read into a `Definition`.

labs/NN-name/
  lab.toml        title, difficulty, minutes, brief, cluster, tasks with their hints, rules, predictions
  variant.py      `variant(choose)`: names, numbers and victims by seed, which replace `$name` in the other files
  setup.yaml      the objects on the cluster when the learner starts; setup-docker.yaml replaces it on real nodes
  check.py        `checks = Checks()` and its functions
  lab.ipynb       the notebook
  solution/       answers.yaml: the reference, right and wrong answers; not copied into a learner's folder
"""

from __future__ import annotations

import hashlib
import importlib.util
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import msgspec

from kitlib.api.boundary import not_utf8
from kitlib.api.convert import convert, in_words
from kitlib.api.errors import KitError
from kitlib.api.serialize import load_data
from kitlib.lab.answers import Answers
from kitlib.lab.checks import Checks
from kitlib.lab.guard import TITLE
from kitlib.lab.rules import RuleSpec
from kitlib.lab.variant import MAX_SEED, fill, fill_all, values_of


class TaskSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A task: its key, the sentence that the learner reads, its points, and hints from vague to plain.

    Attributes:
        needs: keys of tasks that must be solved before this one gives points, since it may hold without any work.
        about: `KIND NAME` of the objects whose refused changes take the points of this task only, if they stay within
            a container (`kitlib.lab.guard`); () = a refused change takes the points of all tasks.
    """

    key: str
    title: str
    points: float = 1
    needs: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()


class PredictionSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A question that is answered before the check: choices, or a number with unit and relative tolerance."""

    key: str
    question: str
    choices: tuple[str, ...] = ()
    unit: str = ""
    tolerance: float = 0.0
    why: str = ""


class OnRealNodes(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The differences on real nodes, which cannot have more CPUs than the machine.

    Attributes:
        cpus: CPUs that the engine must have.
        cluster: arguments of `Cluster.docker`; empty = those of the lab.
    """

    cpus: int = 1
    cluster: dict[str, Any] = {}


class Ground(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The conditions under which a lab was done, as far as a replay must reproduce them.

    Attributes:
        kernel: "simulated" or "docker".
        cgroup_version: cgroup version of real nodes; 0 = as the lab says.
        seed: seed of the variant.
    """

    kernel: Literal["simulated", "docker"] = "simulated"
    cgroup_version: int = 0
    seed: Annotated[int, msgspec.Meta(ge=0, le=MAX_SEED)] = 0


SIMULATED = Ground()


class Way(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A step of a lab, with its command in the terminal and its call in Python.

    Attributes:
        step: the step in words.
        kubectl: the command in a terminal.
        python: the call in a cell.
    """

    step: str
    kubectl: str
    python: str

    def __str__(self) -> str:
        return f"{self.step}: `{self.kubectl}`, or in Python `{self.python}`"


class Definition(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The content of a lab's `lab.toml`.

    Attributes:
        title: the learner's goal.
        difficulty: 1 (first steps) to 3 (a case from practice).
        minutes: the duration, measured with the reference solution's steps read aloud.
        teaches: numbers of the notebooks that the lab belongs to.
        story: the origin of the case, one line.
        brief: the situation and the assignment, in the words of the variant; blank lines separate paragraphs.
        edit: `KIND NAME` of the manifests that the learner changes.
        ways: the steps with kubectl and in Python; () = those that `edit` implies.
        left: an open question after the solved lab, one or two sentences.
        kernels: the kinds of nodes on which the lab can be done: "simulated", "docker".
        why_simulated: the feature that real nodes lack, if the lab cannot be done there.
        cluster: arguments of `Cluster.simulated` or `Cluster.docker` (nodes, release, ...).
        settle: seconds that pass on the cluster's clock after the setup.
        hint_cost: points that a hint costs; 0 = hints are free.
        opens: the objects and fields that the learner may change, see `kitlib.lab.guard`.
        tasks: the tasks, in order.
        rules: conditions that must not be violated.
        predictions: the questions.
        docker: the differences on real nodes.
    """

    title: str
    difficulty: int
    minutes: int
    tasks: tuple[TaskSpec, ...]
    teaches: tuple[str, ...] = ()
    story: str = ""
    brief: str = ""
    edit: tuple[str, ...] = ()
    ways: tuple[Way, ...] = ()
    left: str = ""
    hint_cost: float = 0
    kernels: tuple[str, ...] = ("simulated",)
    why_simulated: str = "other machines, releases, or its clock"
    cluster: dict[str, Any] = {}
    settle: float = 10
    opens: dict[str, tuple[str, ...]] = {}
    rules: tuple[RuleSpec, ...] = ()
    predictions: tuple[PredictionSpec, ...] = ()
    docker: OnRealNodes = OnRealNodes()

    def commands(self) -> tuple[Way, ...]:
        """Return the steps with kubectl and in Python.

        A pod is replaced, because most of its fields cannot be changed. Other objects are applied.
        """
        if self.ways:
            return self.ways
        pods = ", ".join(f"`{one.split()[1]}`" for one in self.edit if one.startswith("Pod "))
        others = ", ".join(f"`{one.split()[1]}`" for one in self.edit if not one.startswith("Pod "))
        made = []
        if pods:
            step = f"Replace {pods} by changed manifests"
            made.append(Way(step=step, kubectl="kubectl replace --force -f FILE", python="lab.replace(MANIFESTS)"))
        if others:
            step = f"Change {others}"
            made.append(Way(step=step, kubectl="kubectl apply -f FILE", python="lab.cluster.apply(MANIFESTS)"))
        return tuple(made)

    def rule_titles(self) -> tuple[str, ...]:
        """Return the sentences of the rules in the order of their results; the last one is that of `[opens]`."""
        return (*(rule.title for rule in self.rules), TITLE)

    def task(self, key: str) -> TaskSpec:
        """Return the task with that key. Raises: KitError."""
        for task in self.tasks:
            if task.key == key:
                return task
        raise KitError(f"no task {key!r} in this lab; valid values: {', '.join(t.key for t in self.tasks)}")


@dataclass(frozen=True)
class LabFolder:
    """A lab's folder, its definition, and the digest of the files that determine a grade.

    Attributes:
        path: the folder.
        name: its name, `01-make-it-guaranteed`.
        definition: the content of lab.toml, in the words of the variant.
        seed: seed of the variant.
        variant: values of the variant.
    """

    path: Path
    name: str
    definition: Definition
    seed: int
    variant: SimpleNamespace

    @classmethod
    def read(cls, path: str | Path, seed: int = 0) -> LabFolder:
        """Read a lab's folder.

        Args:
            path: the folder.
            seed: seed of the variant.

        Raises:
            KitError: a file is missing, lab.toml is invalid, or a task has no check.
        """
        folder = Path(path).resolve()
        file = folder / "lab.toml"
        variant = variant_of(folder, seed)
        try:
            read = fill_all(tomllib.loads(file.read_text(encoding="utf-8")), variant, str(file))
            definition = convert(read, Definition)
        except OSError as error:
            raise KitError(f"{file}: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise KitError(f"{file}: {not_utf8(error)}") from error
        except tomllib.TOMLDecodeError as error:
            raise KitError(f"{file}: {error}") from error
        except msgspec.ValidationError as error:
            place, problem = in_words(error)
            raise KitError(f"{file}: {place or 'the file'}: {problem}") from error
        return cls(folder, folder.name, definition, seed, variant)

    def cluster(self, ground: Ground = SIMULATED, *, real: bool = False) -> dict[str, Any]:
        """Return the arguments of `Cluster.docker` (`real`), or of a simulated cluster with the same nodes."""
        if ground.kernel != "docker":
            return self.definition.cluster
        made = self.definition.docker.cluster or self.definition.cluster
        return made if real or not ground.cgroup_version else {**made, "cgroup_version": ground.cgroup_version}

    def setup(self, ground: Ground = SIMULATED) -> str:
        """Return the manifests that are on the cluster at the start; "" = none."""
        file = self.path / "setup-docker.yaml"
        if ground.kernel != "docker" or not file.exists():
            file = self.path / "setup.yaml"
        return fill(file.read_text(encoding="utf-8"), self.variant, str(file)) if file.exists() else ""

    def checks(self) -> Checks:
        """Load check.py.

        Raises:
            KitError: the file cannot be loaded, or a task or prediction has no function.
        """
        file = self.path / "check.py"
        module = _load(file, f"kitlib_lab_{_identifier(self.name)}")
        checks = getattr(module, "checks", None)
        if not isinstance(checks, Checks):
            raise KitError(f"{file}: must define `checks = Checks()`")
        missing = [t.key for t in self.definition.tasks if t.key not in checks.tasks]
        missing += [p.key for p in self.definition.predictions if p.key not in checks.predictions]
        missing += [r.key for r in self.definition.rules if r.never and r.key not in checks.rules]
        if missing:
            raise KitError(f"{file}: must define a function for {', '.join(missing)}")
        return checks

    def answers(self, ground: Ground = SIMULATED) -> Answers:
        """Read the answers for this variant from solution/answers.yaml; a learner's copy of the folder has none."""
        file, text = self._answers_text()
        return Answers.read(text, file, self.setup(ground), docker=ground.kernel == "docker")

    def answers_data(self) -> dict[str, Any]:
        """Return solution/answers.yaml as data, for this variant. Raises: KitError, if the folder has none."""
        file, text = self._answers_text()
        return load_data(text, file)

    def _answers_text(self) -> tuple[str, str]:
        file = self.path / "solution" / "answers.yaml"
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise KitError(f"{file}: {error.strerror or error}") from error
        return str(file), fill(text, self.variant, str(file))

    def digest(self) -> str:
        """Return the SHA-256 of check.py, lab.toml, variant.py and the setups, which determine a grade."""
        found = hashlib.sha256()
        for name in ("check.py", "lab.toml", "setup.yaml", "setup-docker.yaml", "variant.py"):
            file = self.path / name
            if name in ("setup-docker.yaml", "variant.py") and not file.exists():
                continue
            found.update(name.encode() + b"\0" + (file.read_bytes() if file.exists() else b"") + b"\0")
        return found.hexdigest()


def variant_of(folder: Path, seed: int) -> SimpleNamespace:
    """Return the values of a lab's variant. Raises: KitError, if variant.py cannot be loaded."""
    made = folder / "variant.py"
    function = _load(made, f"kitlib_variant_{_identifier(folder.name)}").variant if made.exists() else None
    return values_of(function, folder.name, seed)


def _identifier(name: str) -> str:
    return name.replace("-", "_")


def _load(file: Path, name: str) -> Any:
    if not file.exists():
        raise KitError(f"{file}: not there")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise KitError(f"{file}: {type(error).__name__}: {error}") from error
    return module
