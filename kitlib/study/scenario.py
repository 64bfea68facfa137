"""A scenario: nodes, pods with and without a node, and the pod in question, to be decided under any release.

    story = Scenario.of({"nodes": [{"name": "a", "cpu": 4}], "pods": [{"name": "p", "cpu": 1}]})
    story.decide("1.24").explain()

A scenario is plain data: whole manifests, or short entries with the fields that most scenarios need (see
`Scenario.of`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kitlib.api.apps import ReplicaSet, StatefulSet
from kitlib.api.core import Namespace, Node, Pod, ReplicationController, Service
from kitlib.api.defaults import set_defaults
from kitlib.api.devices import ResourceClaim
from kitlib.api.errors import KitError, NotFound
from kitlib.api.pod_strategy import merge_label_keys
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy, from_dict, load_data
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.driver import Driver
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.scheduler import Scheduler

ZONE = "topology.kubernetes.io/zone"
_NODE = {"name", "zone", "cpu", "memory", "pods", "labels", "taints", "unschedulable", "allocatable", "images"}
_POD = {"name", "namespace", "node", "cpu", "memory", "labels", "priority", "requests", "spec", "start", "nominated"}
_POD |= {"claims"}
_LISTS: dict[str, type[Any]] = {
    "namespaces": Namespace,
    "services": Service,
    "replication_controllers": ReplicationController,
    "replica_sets": ReplicaSet,
    "stateful_sets": StatefulSet,
    "budgets": PodDisruptionBudget,
}
_FIELDS = {"name", "title", "text", "source", "nodes", "pods", "pod", "gates", "later", "claims", "arrivals", *_LISTS}


@dataclass(frozen=True)
class Scenario:
    """The objects of a cluster and a pod in question.

    Attributes:
        nodes: the nodes.
        pods: the pods; those without a node wait, in this order.
        pod: name of the pod in question; "" = the first waiting pod.
        name: short name, unique among the stories.
        title: title for readers.
        text: description for readers.
        source: source of the scenario, for readers.
        gates: feature gates to set in every release that has them.
        later: nodes that an autoscaler may add.
        arrivals: pods that are created after the start, each with its second; only a `driver` plays them.
        others: keyword arguments of `Scheduler` (`services`, `budgets`, …); `claims` are ResourceClaims, DeviceClasses
            and ResourceSlices.
    """

    nodes: Sequence[Node]
    pods: Sequence[Pod] = ()
    pod: str = ""
    name: str = ""
    title: str = ""
    text: str = ""
    source: str = ""
    gates: Mapping[str, bool] = field(default_factory=dict)
    later: Sequence[Node] = ()
    arrivals: Sequence[tuple[float, Pod]] = ()
    others: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Scenario:
        """Return a scenario from plain data.

        Args:
            data: `nodes`, `pods` and the other attributes. A node or a pod is a manifest, or in short form:
                node `{name, zone, cpu, memory, pods, labels, taints, unschedulable, allocatable, images}`,
                pod `{name, namespace, node, cpu, memory, requests, labels, priority, start, nominated, spec, claims}`
                (`claims`: names of ResourceClaims). One of `arrivals` also has `at`, its second.

        Raises:
            KitError: a field is unknown, or an object is invalid.
        """
        _known("scenario", data, _FIELDS)
        others = {
            name: [from_dict(dict(one), kind) for one in data[name]] for name, kind in _LISTS.items() if data.get(name)
        }
        if data.get("claims"):
            others["claims"] = [_claim_object(one) for one in data["claims"]]
        return cls(
            nodes=[node_of(one) for one in data.get("nodes") or ()],
            pods=[pod_of(one) for one in data.get("pods") or ()],
            pod=data.get("pod", ""),
            name=data.get("name", ""),
            title=data.get("title", ""),
            text=data.get("text", ""),
            source=data.get("source", ""),
            gates=dict(data.get("gates") or {}),
            later=[node_of(one) for one in data.get("later") or ()],
            arrivals=[
                (float(one.get("at", 0)), pod_of({key: value for key, value in one.items() if key != "at"}))
                for one in data.get("arrivals") or ()
            ],
            others=others,
        )

    @classmethod
    def read(cls, source: Path | str, **more: Any) -> Scenario:
        """Return a scenario from a YAML or JSON file, or from a text of that form; see `of`.

        Args:
            source: a path, or the text itself.
            more: fields to use if the source does not have them.

        Raises:
            ManifestError: the file or text cannot be parsed.
            KitError: the file does not exist, a field is unknown, or an object is invalid.
        """
        path = Path(source) if isinstance(source, Path) or ("\n" not in source and not _is_flow(source)) else None
        if path is not None and not path.is_file():
            raise KitError(f"scenario {str(path)!r}: there is no such file")
        text = path.read_text(encoding="utf-8") if path is not None else str(source)
        data = load_data(text, path.name if path is not None else "")
        if not isinstance(data, Mapping):
            raise KitError("scenario: must be a mapping with nodes, pods and other fields")
        return cls.of({**({"name": path.stem} if path is not None else {}), **more, **data})

    @property
    def waiting(self) -> list[Pod]:
        """The pods without a node, in order."""
        return [pod for pod in self.pods if not pod.spec.node_name]

    @property
    def question(self) -> Pod:
        """The pod in question.

        Raises:
            NotFound: no pod has the scenario's name of it.
            KitError: no name is given, and no pod waits for a node.
        """
        if not self.pod:
            if not self.waiting:
                raise KitError(f"scenario {self.name or self.title!r}: no pod is pending")
            return self.waiting[0]
        for pod in self.pods:
            if self.pod in (pod.name, pod.key):
                return pod
        raise NotFound("pods", self.pod)

    def of_pod(self, pod: str) -> Scenario:
        """Return the scenario with another pod in question."""
        return replace(self, pod=pod)

    def release(self, release: Release | str | None = None, gates: Mapping[str, bool] | None = None) -> Release:
        """Return a release with the scenario's gates, as far as it has them, and further gates on top.

        Args:
            release: name of a release, or a `Release`, which keeps its own gates; None = the one followed.
            gates: further feature gates.

        Raises:
            KitError: the release does not have one of `gates`, or its value is not allowed.
        """
        if isinstance(release, Release):
            return release.with_gates(gates) if gates else release
        found = Release.of(release)
        for gate in gates or ():
            if not found.knows(gate):
                raise KitError(f"unrecognized feature gate: {gate}; {found} does not have it")
        refused = found.refused(gates or {})
        if refused:
            raise KitError("; ".join(refused))
        mine = {gate: value for gate, value in self.gates.items() if found.knows(gate)}
        return found.with_gates({**mine, **(gates or {})}) if mine or gates else found

    def scheduler(
        self,
        release: Release | str | None = None,
        *,
        gates: Mapping[str, bool] | None = None,
        profile: Profile | None = None,
        pods: Iterable[Pod] | None = None,
    ) -> Scheduler:
        """Return a scheduler with the scenario's bound pods.

        Args:
            release: name of a release, or a `Release`; None = the one followed.
            gates: feature gates on top of the scenario's.
            profile: the scheduler's profile; None = the release's default.
            pods: pods to use in place of the scenario's own.
        """
        seen = list(self.pods if pods is None else pods)
        return Scheduler(
            self.nodes,
            [pod for pod in seen if pod.spec.node_name],
            release=self.release(release, gates),
            profile=profile,
            nominated=[pod for pod in seen if pod.status.nominated_node_name and not pod.spec.node_name],
            **self.others,  # type: ignore[arg-type]
        )

    def decide(
        self,
        release: Release | str | None = None,
        *,
        gates: Mapping[str, bool] | None = None,
        profile: Profile | None = None,
    ) -> Decision:
        """Return the decision about the pod in question, after placing the pods that wait before it."""
        scheduler = self.scheduler(release, gates=gates, profile=profile)
        question = self.question
        for pod in self.waiting:
            if pod is question:
                break
            scheduler.schedule(pod)
        return scheduler.explain(deepcopy(question))

    def driver(
        self, release: Release | str | None = None, *, gates: Mapping[str, bool] | None = None, **settings: Any
    ) -> Driver:
        """Return a scheduler with its queue, to which all waiting pods are added, and `arrivals` at their time."""
        settings = {"arrivals": self.arrivals, **self.others, **settings}
        return Driver(self.nodes, self.pods, release=self.release(release, gates), **settings)


def node_of(data: Mapping[str, Any]) -> Node:
    """Return a node from a manifest or a short entry."""
    if "metadata" in data:
        made = from_dict(dict(data), Node)
    else:
        _known(f"node {data.get('name', '')!r}", data, _NODE)
        name = _name(data, "node")
        labels = {"kubernetes.io/hostname": name, **({ZONE: data["zone"]} if data.get("zone") else {})}
        amounts = {"cpu": data.get("cpu", 4), "memory": data.get("memory", "16Gi"), "pods": data.get("pods", 110)}
        made = from_dict(
            {
                "metadata": {"name": name, "labels": {**labels, **(data.get("labels") or {})}},
                "spec": {"taints": data.get("taints") or [], "unschedulable": bool(data.get("unschedulable"))},
                "status": {
                    "allocatable": _texts({**amounts, **(data.get("allocatable") or {})}),
                    "images": data.get("images") or [],
                },
            },
            Node,
        )
    return made


def pod_of(data: Mapping[str, Any]) -> Pod:
    """Return a pod from a manifest or a short entry, with defaults set."""
    if "metadata" in data:
        made: Pod = from_dict(dict(data), Pod)
    else:
        _known(f"pod {data.get('name', '')!r}", data, _POD)
        name, spec = _name(data, "pod"), dict(data.get("spec") or {})
        requests = {**{key: data[key] for key in ("cpu", "memory") if key in data}, **(data.get("requests") or {})}
        container = {"name": "app", "image": "app:1", "resources": {"requests": _texts(requests)}}
        spec.setdefault("containers", [container])
        spec.setdefault("priority", data.get("priority", 0))
        if data.get("node"):
            spec["nodeName"] = data["node"]
        if data.get("claims"):
            spec["resourceClaims"] = [{"name": one, "resourceClaimName": one} for one in data["claims"]]
        status = {"startTime": data["start"]} if data.get("start") else {}
        if data.get("nominated"):
            status["nominatedNodeName"] = data["nominated"]
        meta = {"name": name, "namespace": data.get("namespace", "default"), "labels": data.get("labels") or {}}
        made = from_dict({"metadata": meta, "spec": spec, "status": status}, Pod)
    made.metadata.namespace = made.metadata.namespace or "default"
    made.metadata.uid = made.metadata.uid or (
        made.name if made.metadata.namespace == "default" else made.key.replace("/", "-")
    )
    return merge_label_keys(set_defaults(made))


def _claim_object(data: Mapping[str, Any]) -> Any:
    made = set_defaults(from_dict({"apiVersion": "resource.k8s.io/v1", **data}))
    if isinstance(made, ResourceClaim):
        made.metadata.namespace = made.metadata.namespace or "default"
        made.metadata.uid = made.metadata.uid or made.key
    return made


def _is_flow(text: str) -> bool:
    return text.lstrip().startswith("{")


def _texts(amounts: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def _name(data: Mapping[str, Any], kind: str) -> str:
    if not data.get("name"):
        raise KitError(f"{kind}: name: Required value")
    return str(data["name"])


def _known(what: str, data: Mapping[str, Any], fields: set[str]) -> None:
    unknown = sorted(set(data) - fields)
    if unknown:
        raise KitError(f"{what}: unknown field {unknown[0]!r}; valid values: {', '.join(sorted(fields))}")
