"""A simulated cluster goes on, whatever is applied, changed, deleted, scaled, evicted in it; and much is accepted."""

from __future__ import annotations

from typing import Any

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from tests.fuzz import samples
from tests.fuzz.mutate import SEED, Mutator, fuzz, part, share, words

DEFECTS = ("InternalError", "FailedSync", "KubeletError", "SchedulerError")
"""Reasons of the events that a guard writes."""
OBJECTS = (*[samples.POD] * 6, *samples.OTHERS, *samples.MORE)
SCALABLE = ("Deployment", "ReplicaSet", "StatefulSet")
LIMITING = ("ResourceQuota", "LimitRange")
NAMESPACES = ("default", "default", "team-a", "team-b")
MAX_PODS, MAX_NODES = 30, 4
"""A cluster with more is replaced by a new one: the next inputs are to be quick."""
ACCEPTED = 0.25
"""The least share of operations, deletions left out, that must be accepted in every fifth of a run, or in a hundred:
about 0.55 are; a quota that refuses every pod from then on leaves 0.1."""
GOOD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "good", "namespace": "good"},
    "spec": {"containers": [{"name": "c", "image": "x"}]},
}


def _few(manifest: Any) -> Any:
    """No more than 20 pods of one workload: a thousand are right, and slow while memory is traced."""
    spec = manifest.get("spec") if isinstance(manifest, dict) else None
    if isinstance(spec, dict):
        for name in ("replicas", "completions", "parallelism"):
            if isinstance(spec.get(name), int):
                spec[name] = min(spec[name], 20)
    return manifest


class Session:
    """One cluster after another, and what is in it.

    Attributes:
        accepted: for each operation so far that was no deletion, whether it was.
        known: manifests of what was applied and not deleted.
    """

    def __init__(self) -> None:
        self.accepted: list[bool] = []
        self.number = 0
        self._start()
        self._look()  # what is imported at the first use does not count as an input's time

    def _start(self) -> None:
        self.cluster = Cluster.simulated(1)
        self.known: list[dict[str, Any]] = []
        for name in ("good", *sorted(set(NAMESPACES) - {"default"})):
            self.cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def make(self, mutator: Mutator) -> tuple[str, Any]:
        """An operation: mostly one that a careful user could mean."""
        dice = mutator.random.random()
        limits = [one for one in self.known if one["kind"] in LIMITING]
        pods = [one for one in self.known if one["kind"] == "Pod"]
        scalable = [one for one in self.known if one["kind"] in SCALABLE]
        if limits and dice < 0.1:
            return "delete", limits[0]
        if self.known and dice < 0.18:
            return "delete", share(self.known, mutator)
        if self.known and dice < 0.24:
            return "apply", _few(mutator.near(share(self.known, mutator)))
        if self.known and dice < 0.28:
            one = share(self.known, mutator)
            return "patch", (one, {"spec": mutator.near(one.get("spec") or {"a": 1})})
        if scalable and dice < 0.32:
            return "scale", (share(scalable, mutator), share((0, 1, 2, 5, 50, -1), mutator))
        if pods and dice < 0.38:
            return share(("evict", "resize"), mutator), (share(pods, mutator), share(("50m", "2", "0", "-1"), mutator))
        if dice < 0.4:
            return "cordon", mutator.random.random() < 0.3
        return "apply", self._manifest(mutator, mutator.near if dice < 0.96 else mutator.value)

    def _manifest(self, mutator: Mutator, change: Any) -> Any:
        """Under a name of its own; near each other, so that they meet."""
        self.number += 1
        sample = share(OBJECTS, mutator)
        rest = {key: value for key, value in sample.items() if key not in ("apiVersion", "kind", "metadata")}
        made = {**sample, **change(rest, 1)} if mutator.random.random() < 0.8 else change(sample)
        if mutator.random.random() < 0.2:
            command = words(samples.COMMANDS, mutator).encode("utf-8", "replace").decode()
            container = {"name": "c", "image": "x", "command": ["sh", "-c", command]}
            made = {**samples.POD, "spec": {**samples.POD["spec"], "containers": [container]}}
        if isinstance(made, dict) and isinstance(made.get("metadata"), dict):
            space = share(NAMESPACES[2:] if made.get("kind") in LIMITING else NAMESPACES, mutator)
            name = f"{str(made.get('kind')).lower()}-{self.number}"
            made = {**made, "metadata": {**made["metadata"], "name": name, "namespace": space}}
        return _few(made)

    def run(self, operation: tuple[str, Any]) -> None:
        """What is accepted runs; what is refused changes nothing; the next is taken as if nothing had been."""
        taken = False
        try:
            self._do(*operation)
            taken = True
        finally:
            if operation[0] != "delete":
                self.accepted.append(taken)
            self._look()
            cluster = self.cluster
            if len(cluster.list("Pod")) > MAX_PODS or len(cluster.list("Node")) > MAX_NODES:
                self._start()

    def _look(self) -> None:
        """A good pod is taken, time passes, and no guard was needed."""
        cluster = self.cluster
        cluster.apply(GOOD)
        cluster.advance(2)
        assert cluster.explain("good", "good").explain()
        assert not cluster.controllers.errors, cluster.controllers.errors
        internal = [e.message for e in cluster.events() if e.reason in DEFECTS]
        assert not internal, internal

    def _do(self, what: str, argument: Any) -> None:
        cluster = self.cluster
        if what == "apply":
            for made in cluster.apply(argument):
                named = argument["metadata"].get("name")  # a LimitRange gets a name of its own, as upstream's does
                if named and argument not in self.known:
                    self.known.append(argument)
                if made.kind == "Pod":
                    assert isinstance(cluster.explain(made.name, made.namespace).explain(), str)
            return
        if what == "cordon":
            cluster.cordon(cluster.nodes[0].name, unschedulable=argument)
            return
        manifest, more = argument if isinstance(argument, tuple) else (argument, None)
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        space = manifest["metadata"].get("namespace", "default")
        if what == "delete":
            self.known.remove(manifest)
            cluster.delete(kind, name, space)
        elif what == "patch":
            cluster.patch(kind, name, more, space)
        elif what == "scale":
            cluster.scale(kind, name, more, space)
        elif what == "evict":
            cluster.evict(name, space)
        else:
            cluster.resize(name, {"c": {"requests": {"cpu": more}}}, space)


def test_a_simulated_cluster_survives_every_operation(note: Any) -> None:
    session = Session()
    figures = fuzz(session.make, session.run, KitError, part(200))
    of = max(len(session.accepted) // 5, 100)
    parts = [session.accepted[at : at + of] for at in range(0, len(session.accepted), of)]
    shares = [sum(one) / len(one) for one in parts if len(one) == of or len(parts) == 1]
    whole = sum(session.accepted) / len(session.accepted)
    note({**figures, "accepted": whole, "accepted_in_the_worst_part": min(shares)})
    assert min(shares) >= ACCEPTED, f"seed {SEED}: {shares}"
