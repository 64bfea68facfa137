"""One hundred questions over twenty generated clusters, with answers that arithmetic gives without the kit.

    python -m tests.advisor.assistant_questions write DIRECTORY
    python -m tests.advisor.assistant_questions grade DIRECTORY/answers.json

`write` stores `dump-01.json` to `dump-20.json` and `questions.json`, which has no answers. An assistant that has only
the tools of `kitlib mcp` writes `answers.json` (question id -> number or name), and `grade` compares it with the values
that are computed here from the seed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.advisor.dumps import node, pod

SEED = 46
DUMPS, PER_DUMP = 20, 5
Answer = int | str
Object = dict[str, Any]
CAUSES = {
    "too-large": "filters",
    "gated": "gate",
    "selector": "filters",
    "port": "filters",
    "claim": "volumes",
}
"""Planted cause of the pod shop/stuck -> the stage that holds it."""
PORT = 8443


@dataclass(frozen=True)
class Question:
    """A question with its known answer.

    Attributes:
        id: `d01-q1`.
        dump: number of the dump, from 1.
        kind: name of the function that computes the answer.
        text: the question.
        about: arguments for a mechanical answer.
        answer: a number, or a name.
    """

    id: str
    dump: int
    kind: str
    text: str
    about: tuple[str, ...]
    answer: Answer


@dataclass
class Place:
    """A generated node: allocatable milli-CPU, and name -> milli-CPU of its pods."""

    name: str
    cpu: int
    pods: dict[str, int]
    cordoned: bool = False

    @property
    def free(self) -> int:
        return self.cpu - sum(self.pods.values())


class Scene:
    """A generated cluster: the objects, and the plain figures from which answers follow."""

    def __init__(self, number: int, seed: int = SEED) -> None:
        self.number = number
        self.random = Random(f"{seed}-{number}")
        self.cause = list(CAUSES)[number % len(CAUSES)]
        self.size = self.random.choice((300, 400, 500, 700))
        names = self.random.sample(["ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "oak", "pine"], 5)
        self.places = [Place(name, 1000 * self.random.choice((2, 3, 4)), {}) for name in names]
        self.places[2].cordoned = bool(number % 2)
        self.edge, self.data = self.places[-1], self.places[0]
        self.extra: list[Object] = []
        self.waiting = 0
        for place in self.places:
            for i in range(self.random.randrange(1, 4) if place is not self.edge else 0):
                self._run(place, f"{place.name}-base-{i}", self.random.randrange(10, 45) * 10)
        self._memory_pods()
        self._web()
        self._database()
        self._waiting_pods()

    def _run(self, place: Place, name: str, cpu: int, **more: Any) -> None:
        place.pods[name] = cpu
        self.extra.append(pod(name, cpu=f"{cpu}m", on=place.name, namespace="shop", **more))

    def _memory_pods(self) -> None:
        """Add pods with memory and measured use to the first node; each differs from the others in one rule."""
        self.use: dict[str, tuple[int, int, int]] = {}  # pod -> priority, request and use in MiB
        for i in range(4):
            request = self.random.choice((256, 512, 1024))
            use = request + self.random.choice((-128, 64, 192, 320)) + i
            priority = self.random.choice((0, 0, 100))
            name = f"cache-{i}"
            self.use[name] = (priority, request, use)
            asks = {"resources": {"requests": {"cpu": "10m", "memory": f"{request}Mi"}}}
            spec = {"priority": priority}
            self._run(self.data, name, 10, container=asks, spec=spec)
        for name in self.data.pods:
            use = self.use[name][2] if name in self.use else 1
            self.extra.append(
                {
                    "apiVersion": "metrics.k8s.io/v1beta1",
                    "kind": "PodMetrics",
                    "metadata": {"name": name, "namespace": "shop"},
                    "containers": [{"name": "c", "usage": {"cpu": "5m", "memory": f"{use}Mi"}}],
                }
            )

    def _web(self) -> None:
        """Add a Deployment with pods of one size; the last node has no others."""
        labels = {"app": "web", "pod-template-hash": "5b7"}
        owner = _owner("ReplicaSet", "web-5b7", "uid-web-rs")
        self.replicas = 0
        for place in (*self.places[1:4:2], *[self.edge] * self.random.randrange(2, 5)):
            if place.free >= self.size:
                name = f"web-5b7-{self.replicas}"
                self._run(place, name, self.size, meta={"labels": labels, "ownerReferences": [owner]})
                self.replicas += 1
        self.extra += _workload("web", self.replicas, self.size, labels, "web-5b7")

    def _database(self) -> None:
        """Add a ReplicaSet whose disruption budget allows nothing, and a budget that allows everything."""
        labels = {"app": "db"}
        owner = _owner("ReplicaSet", "db", "uid-db")
        self.holder = self.places[1]
        self._run(self.holder, "db-0", 50, meta={"labels": labels, "ownerReferences": [owner]})
        self.extra.append(_replica_set("db", "uid-db", 1, 50, labels))
        self.budget = f"keep-{self.random.choice(('ledger', 'orders', 'stock'))}"
        self.extra += [_budget(self.budget, labels, "0"), _budget("loose", {"app": "web"}, "100%")]

    def _waiting_pods(self) -> None:
        """Add the pod shop/stuck with the planted cause, and pods that no node can take."""
        spec: dict[str, Any] = {}
        cpu = "10m"
        if self.cause == "too-large":
            cpu = "9"
        elif self.cause == "gated":
            spec["schedulingGates"] = [{"name": "example.com/wait"}]
        elif self.cause == "selector":
            spec["nodeSelector"] = {"disk": "tape"}
        elif self.cause == "claim":
            spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "scratch"}}]
            self.extra.append(_claim("other"))
        ports = {"ports": [{"containerPort": PORT, "hostPort": PORT}]}
        for place in self.places:  # each node has a holder of the port, so a pod that wants it waits
            small = {"resources": {"requests": {"cpu": "1m"}}, **ports}
            owners = [_owner("DaemonSet", "edge-proxy", "uid-ds")]
            self._run(place, f"edge-proxy-{place.name}", 1, container=small, meta={"ownerReferences": owners})
        self.extra.append(_daemon_set(ports))
        asks = {"container": {"resources": {"requests": {"cpu": cpu}}, **ports}}
        more: dict[str, Any] = asks if self.cause == "port" else {}
        self.extra.append(pod("stuck", cpu=cpu, namespace="shop", spec=spec, **more))
        self.waiting = 1 + self.random.randrange(0, 4)
        for i in range(1, self.waiting):
            self.extra.append(pod(f"giant-{i}", cpu=f"{self.random.randrange(20, 40)}", namespace="shop"))

    @property
    def items(self) -> list[Object]:
        """The objects, as kubectl prints them."""
        nodes = []
        for place in self.places:
            made = node(place.name, cpu=f"{place.cpu}m")
            made["spec"] |= {"unschedulable": True} if place.cordoned else {}
            if place.cordoned:
                made["spec"]["taints"] = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
            nodes.append(made)
        return [*nodes, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}, *self.extra]

    @property
    def open(self) -> list[Place]:
        """The nodes that take new pods."""
        return [place for place in self.places if not place.cordoned]

    def room(self, without: Place | None = None) -> int:
        """Return how many pods of the Deployment's size fit."""
        return sum(place.free // self.size for place in self.open if place is not without)


def _owner(kind: str, name: str, uid: str) -> Object:
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}


def _template(labels: Mapping[str, str], cpu: int) -> Object:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": f"{cpu}m"}}}
    return {"metadata": {"labels": dict(labels)}, "spec": {"containers": [container]}}


def _replica_set(name: str, uid: str, replicas: int, cpu: int, labels: Mapping[str, str], **meta: Any) -> Object:
    selector = {"matchLabels": dict(labels)}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "shop", "uid": uid, "labels": dict(labels), **meta},
        "spec": {"replicas": replicas, "selector": selector, "template": _template(labels, cpu)},
    }


def _workload(name: str, replicas: int, cpu: int, labels: Mapping[str, str], replica_set: str) -> list[Object]:
    own = {"app": labels["app"]}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": f"uid-{name}",
            "annotations": {"deployment.kubernetes.io/revision": "1"},
        },
        "spec": {"replicas": replicas, "selector": {"matchLabels": own}, "template": _template(own, cpu)},
    }
    owners = [_owner("Deployment", name, f"uid-{name}")]
    revision = {"deployment.kubernetes.io/revision": "1"}
    below = _replica_set(
        replica_set, f"uid-{name}-rs", replicas, cpu, labels, ownerReferences=owners, annotations=revision
    )
    return [deployment, below]


def _daemon_set(ports: Mapping[str, Any]) -> Object:
    labels = {"app": "edge-proxy"}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1m"}}, **ports}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "edge-proxy", "namespace": "shop", "uid": "uid-ds"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def _budget(name: str, labels: Mapping[str, str], most: str) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"maxUnavailable": int(most) if most.isdigit() else most, "selector": {"matchLabels": dict(labels)}},
    }


def _claim(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }


Made = tuple[str, tuple[str, ...], Answer]


def requested(scene: Scene) -> Made:
    place = scene.random.choice(scene.places)
    text = f"How many milli-CPU do the pods on node {place.name} request in total?"
    return text, (place.name,), sum(place.pods.values())


def freest(scene: Scene) -> Made:
    scene.places[3].cpu += 1 if len({place.free for place in scene.places}) < len(scene.places) else 0
    best = max(scene.places, key=lambda place: place.free)
    return "Which node has the most CPU that is allocatable and not requested (cordoned nodes count)?", (), best.name


def fit(scene: Scene) -> Made:
    return "How many more pods like shop/web-5b7-0 fit into the cluster now?", ("web-5b7-0",), scene.room()


def stage(scene: Scene) -> Made:
    text = "At which stage is the pod shop/stuck held? Answer with the stage's name as the tool gives it."
    return text, ("shop/stuck",), CAUSES[scene.cause]


def largest(scene: Scene) -> Made:
    text = "What is the largest CPU request, in milli-CPU, of a new pod without other constraints that a node can take?"
    return text, (), max(place.free for place in scene.open)


def drained(scene: Scene) -> Made:
    web = sum(name.startswith("web-") for name in scene.edge.pods)
    text = f"Node {scene.edge.name} is drained (DaemonSets ignored). How many of the pods evicted from it then wait?"
    return text, (scene.edge.name,), max(0, web - scene.room(without=scene.edge))


def scaled(scene: Scene) -> Made:
    more = scene.random.randrange(1, 40)
    text = f"Deployment shop/web is scaled to {scene.replicas + more} replicas. How many of its pods wait for a node?"
    return text, (f"deployment/web {scene.replicas + more}",), max(0, more - scene.room())


def blocking_budget(scene: Scene) -> Made:
    text = f"Which disruption budget keeps the drain of node {scene.holder.name} from ending (its name)?"
    return text, (scene.holder.name,), scene.budget


def qos(scene: Scene) -> Made:
    name = scene.random.choice(sorted(scene.holder.pods))
    return f"Which QoS class has the pod shop/{name}?", (scene.holder.name, f"shop/{name}"), "Burstable"


def evicted_first(scene: Scene) -> Made:
    """Rank as the kubelet does: use above the request first, then low priority, then the largest use above it."""
    others = {name: (0, 0, 1) for name in scene.data.pods if name not in scene.use}
    ranked = sorted(
        {**scene.use, **others}.items(), key=lambda one: (one[1][2] <= one[1][1], one[1][0], one[1][1] - one[1][2])
    )
    text = f"Node {scene.data.name} runs out of memory. Which pod does the kubelet evict first (namespace/name)?"
    return text, (scene.data.name,), f"shop/{ranked[0][0]}"


def waiting(scene: Scene) -> Made:
    return "How many pods of the cluster wait for a node?", (), scene.waiting


def resized(scene: Scene) -> Made:
    place = scene.random.choice([one for one in scene.places if any(name.endswith("base-0") for name in one.pods)])
    name = f"{place.name}-base-0"
    asked = scene.random.choice((scene.places[0].cpu, place.cpu + 100, place.pods[name] + place.free, place.cpu - 50))
    room = place.free + place.pods[name]
    # A request above the node's allocatable CPU never reaches the kubelet: the API server refuses it.
    answer = "resized" if asked <= room else "deferred" if asked <= place.cpu else "refused"
    text = f"The CPU request of pod shop/{name} is changed in place to {asked}m. What becomes of the resize: "
    return f"{text}resized, deferred, or refused by the API server?", (f"shop/{name} cpu={asked}m",), answer


KINDS: tuple[Callable[[Scene], Made], ...] = (
    requested,
    freest,
    fit,
    stage,
    largest,
    drained,
    scaled,
    blocking_budget,
    qos,
    evicted_first,
    waiting,
    resized,
)


def scene_with_questions(number: int, seed: int = SEED) -> tuple[Scene, list[Question]]:
    """Return a generated cluster and its questions."""
    scene = Scene(number, seed)
    found = []
    for i in range(PER_DUMP):
        kind = KINDS[((number - 1) * PER_DUMP + i) % len(KINDS)]
        text, about, answer = kind(scene)
        found.append(Question(f"d{number:02}-q{i + 1}", number, kind.__name__, text, about, answer))
    return scene, found


def write(directory: Path, seed: int = SEED) -> None:
    """Write the dumps and the questions, without answers."""
    directory.mkdir(parents=True, exist_ok=True)
    asked = []
    for number in range(1, DUMPS + 1):
        scene, questions = scene_with_questions(number, seed)
        file = f"dump-{number:02}.json"
        (directory / file).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": scene.items}, indent=1))
        asked += [{"id": one.id, "dump": file, "question": one.text} for one in questions]
    (directory / "questions.json").write_text(json.dumps(asked, indent=1))


def grade(answers: Mapping[str, Any], seed: int = SEED) -> list[Question]:
    """Return the questions that were answered wrongly or not at all."""
    questions = [one for number in range(1, DUMPS + 1) for one in scene_with_questions(number, seed)[1]]
    return [one for one in questions if not is_right(answers.get(one.id), one.answer)]


def is_right(given: Any, answer: Answer) -> bool:
    """Return whether an answer is the computed one; case and blanks around a name do not count."""
    if isinstance(answer, int):
        text = str(given).strip().removesuffix("m").strip()
        return not isinstance(given, bool) and text.isdecimal() and int(text) == answer
    return isinstance(given, str) and given.strip().lower() == answer.lower()


def main(arguments: list[str]) -> int:
    """Run `write DIRECTORY` or `grade FILE`."""
    verb, path = arguments
    if verb == "write":
        write(Path(path))
        return 0
    answers = json.loads(Path(path).read_text())
    wrong = grade(answers)
    print(f"{DUMPS * PER_DUMP - len(wrong)} of {DUMPS * PER_DUMP} right")
    for one in wrong:
        print(f"{one.id} {one.kind}: {answers.get(one.id)!r}, computed {one.answer!r}: {one.text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
