"""Carries out questions about a cluster on a copy of it, one after the other.

    answer = what_if(dump, ["drain node-1", "add node-2 2"])
    answer.sentence, answer.effects, answer.exit_code

A question acts on the copy (`Cluster.from_dump`, `cluster.fork()`) like kubectl or a failing machine; controllers and
scheduler react, virtual time passes, and the pods are compared with those before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kitlib.advisor import resizing, vertical
from kitlib.advisor.dump import Dump
from kitlib.advisor.findings import Gap, counted, data_of, items, text
from kitlib.advisor.last_word import retry_text
from kitlib.advisor.missing_kinds import gaps_of
from kitlib.advisor.other_pods import root_of
from kitlib.advisor.pod_usage import measured, stats_of
from kitlib.advisor.pressure import NodeUnderPressure, PressureResult, grown, on_node, resource_of
from kitlib.advisor.rebalancing import deschedule, scale_down
from kitlib.advisor.resizing import ResizeOutcome, WantedAmounts, parse_amounts
from kitlib.advisor.targets import find_target
from kitlib.advisor.unreported import budget_gaps
from kitlib.advisor.what_if_answer import Effect, WhatIf, node_uses
from kitlib.api.collector import collector_paused
from kitlib.api.core import TERMINAL_PHASES, Event, Node, Pod
from kitlib.api.errors import KitError, ManifestError, NotFound
from kitlib.api.meta import Condition, KubeObject, OwnerReference, with_condition
from kitlib.api.release import RELEASES, Release
from kitlib.api.resource import Quantity, QuantityError
from kitlib.api.serialize import deepcopy
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.copied import WEBHOOKS
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.loop.eviction import EVERY
from kitlib.study.drain import MIRROR, drain

MAKERS = ("ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController")
"""Kinds whose controllers of the copy make pods again."""
SETTLE = 30.0
"""Virtual seconds after each question."""
UNTIL_EVICTED = 420.0
"""Virtual seconds after a machine's end: 50 until it is unreachable, 300 of the default toleration, and a margin."""
DRAIN_SECONDS = 120.0
"""Virtual seconds for which a drain retries evictions that budgets reject."""


@collector_paused()
def what_if(
    dump: Dump,
    questions: Sequence[str],
    *,
    force: bool = False,
    delete_emptydir_data: bool = False,
    settings: KubeletSettings | None = None,
    manifests: Mapping[str, str] | None = None,
) -> WhatIf:
    """Return the effects of these questions, carried out one after the other.

    Args:
        dump: the cluster.
        questions: the questions, in the notations of `QUESTIONS`.
        force: whether drains evict pods without a controller, as `kubectl drain --force`.
        delete_emptydir_data: whether drains evict pods with emptyDir volumes.
        settings: settings of the kubelets, for pressure and resizes; None = the defaults.
        manifests: name -> text for `apply NAME`; other names are files.

    Raises:
        KitError: a question is invalid, or names an object that does not exist.
    """
    parsed = [_parsed(question) for question in questions]
    with Cluster.from_dump(dump) as cluster:
        flags = {"force": force, "delete_emptydir_data": delete_emptydir_data}
        trial = _Trial(dump, cluster, flags, settings, manifests or {})
        before = trial.pods()
        for ask, words in parsed:
            ask(trial, *words)
        trial.retry()
        effects = tuple(trial.effects())
        gaps = tuple(trial.gaps({effect.pod for effect in effects}))
        nodes = node_uses(cluster.api.store.list(Node, copy=False), before, trial.pods())
        changes, refused = tuple(trial.changes), tuple(trial.refused)
        return WhatIf(tuple(questions), effects, refused, changes, gaps, tuple(trial.notes), nodes)


class _Trial:
    """A copy of a cluster on which questions are carried out."""

    def __init__(
        self,
        dump: Dump,
        cluster: Any,
        flags: dict[str, bool],
        settings: KubeletSettings | None,
        manifests: Mapping[str, str],
    ) -> None:
        self.dump, self.cluster, self.flags = dump, cluster, flags
        self.given_settings, self.settings = settings, settings or KubeletSettings()
        self.manifests = manifests
        self.notes: list[str] = []
        self.evicted: dict[str, str] = {}
        self.asked_gaps: list[Gap] = []
        self.refused: list[str] = []
        self.changes: list[str] = []
        self.fates: list[Effect] = []
        self._before = self.pods()
        self._drained: set[str] = set()
        self._retried: set[str] = set()  # UIDs of pods that only an attempt without an event has placed

    def pods(self) -> dict[str, Pod]:
        """Return UID -> stored pod; a change replaces the stored object, so the returned pods do not change."""
        return {pod.metadata.uid: pod for pod in self.cluster.api.store.list(Pod, copy=False)}

    def drain(self, node: str) -> None:
        self._known(node)
        self._drained.add(node)
        try:
            rows = drain(self.cluster, node, DRAIN_SECONDS, **self.flags)
        except KitError as error:
            self.refused.append(str(error))
            return
        said = {f"{row['pod']}: {row['answer'].removeprefix('429: ')}" for row in rows if row["answer"][:3] == "429"}
        ended = {row["pod"] for row in rows if row["answer"] in ("gone", "evicted")}
        blocked = sorted(cause for cause in said if cause.partition(":")[0] not in ended)
        self.refused += [f"the drain of {node} does not end, {cause}" for cause in blocked]
        gone = {row["pod"] for row in rows if row["answer"] == "gone"}
        slow = sorted({row["pod"] for row in rows if row["answer"] == "evicted"} - gone)
        if slow:
            whose = f"{', '.join(slow[:3])}{f' and {len(slow) - 3} more' if len(slow) > 3 else ''}"
            self.refused.append(f"the drain of {node} does not end within {DRAIN_SECONDS:.0f} s: it waits for {whose}")
        self.cluster.advance(SETTLE)

    def lose(self, node: str) -> None:
        names = [node]
        if "=" in node:  # all nodes with a label, such as a zone
            key, _, value = node.partition("=")
            names = [node.name for node in self.cluster.list("Node") if node.metadata.labels.get(key) == value]
            if not names:
                raise KitError(f"whatif lose: no node has the label {node}")
        for name in names:
            self._known(name)
            self.cluster.stop_kubelet(name)
        self.cluster.advance(UNTIL_EVICTED)

    def deschedule(self) -> None:
        self.refused += deschedule(self.cluster)
        self.cluster.advance(SETTLE)

    def scale_down(self) -> None:
        self.notes += scale_down(self.cluster, self.drain)
        self.cluster.advance(SETTLE)

    def add(self, template: str, count: str = "1") -> None:
        model: Node = self._known(template)
        for number in range(1, _whole(count, "whatif add: number of nodes") + 1):
            made = deepcopy(model)
            name = f"{template}-more-{number}"
            labels = {**model.metadata.labels, "kubernetes.io/hostname": name}
            made.metadata.name, made.metadata.uid, made.metadata.labels = name, "", labels
            made.metadata.resource_version, made.spec.unschedulable = "", False
            made.spec.taints = [taint for taint in made.spec.taints if not taint.key.startswith("node.kubernetes.io/")]
            self.cluster.adopt_node(made)
        self.cluster.advance(SETTLE)

    def scale(self, target: str, replicas: str) -> None:
        obj = find_target(self.dump, target)
        self.cluster.scale(obj.kind, obj.name, _whole(replicas, "whatif scale: replicas"), obj.namespace)
        self.cluster.advance(SETTLE)

    def apply(self, file: str) -> None:
        try:
            text = self.manifests.get(file)
            self.cluster.apply(f"{text}\n" if text is not None else Path(file))
        except ManifestError:  # nothing that could be asked of a server
            raise
        except KitError as error:
            self.refused.append(str(error))
        self.cluster.advance(SETTLE)

    def upgrade(self, to: str) -> None:
        after = Release.of(to)
        found = self.dump.changes(_own_release(self.dump), after)
        self.changes += [f"{change.kind}: {change}" for change in found if change.kind != "gate"]

    def resize(self, target: str, *amounts: str) -> None:
        pod = find_target(self.dump, target)
        if not isinstance(pod, Pod):
            raise KitError(f"whatif resize: {pod.kind} {pod.key} is not a pod; only pods can be resized")
        present = self.cluster.get("Pod", pod.name, pod.namespace)
        outcome = self._resize(present, parse_amounts(present, amounts))
        self.refused += [outcome.refused] if outcome.refused else []
        self.asked_gaps += outcome.gaps
        self.cluster.advance(SETTLE)
        if outcome.effect is not None and not self._is_placed_by(outcome.effect, present):
            self.fates.append(outcome.effect)

    def _is_placed_by(self, effect: Effect, pod: Pod) -> bool:
        """Return whether a pod that waited has a node since its resize, which the comparison of pods reports."""
        return effect.kind == "pending" and bool(self.pods()[pod.metadata.uid].spec.node_name)

    def _resize(self, pod: Pod, wanted: WantedAmounts) -> ResizeOutcome:
        used = measured(self.dump).get(pod.key)
        return resizing.carry_out(self.cluster, pod, wanted, self.given_settings, used)

    def vertical(self, target: str = "") -> None:
        for plan in vertical.plans(self.dump, target):
            outcome = vertical.carry_out(self.cluster, plan, self._resize)
            self.notes += plan.notes
            self.fates += outcome.effects
            self.refused += outcome.refused
            self.asked_gaps += [*plan.gaps, *outcome.gaps]
        self.cluster.advance(SETTLE)

    def pressure(self, name: str, *words: str) -> None:
        """Exhaust a resource of a node, or let a pod grow; the kubelet's evictions are carried out on the copy."""
        resource, amount = resource_of(words[0])
        nodes = {found.name: found for found in self.cluster.list("Node")}
        pod = None if name in nodes else self._placed(find_target(self.dump, name))
        node = nodes[pod.spec.node_name if pod is not None else name]
        there = [pod for pod in self.pods().values() if pod.spec.node_name == node.name]
        there = [pod for pod in there if pod.status.phase not in TERMINAL_PHASES]
        given = dict(self._stated(text) for text in words[1:])
        if pod is not None:
            if resource != "memory" or amount is None:
                raise KitError(
                    f"whatif pressure: specify the memory that pod {pod.key} uses under pressure, as memory=AMOUNT"
                )
            given[pod.key] = amount
        stats, gaps = stats_of(there, measured(self.dump), given, resource)
        machine = NodeUnderPressure(node, self.settings, self.dump.release)
        if pod is not None:
            outcome = grown(machine, there, stats, pod)
        else:
            outcome = on_node(machine, there, stats, resource, amount)
        self.notes += outcome.notes
        self.asked_gaps += gaps if outcome.condition else []
        self.fates += [Effect(key, "killed", node.name, node.name, why) for key, why in outcome.killed.items()]
        self._evict(node, outcome)

    def _evict(self, node: Node, outcome: PressureResult) -> None:
        if outcome.condition:
            # The condition comes first: its taint keeps the pods that replace evicted ones away from the node.
            node.status.conditions = with_condition(
                node.status.conditions,
                Condition(type=outcome.condition, status="True", last_heartbeat_time=self.cluster.now()),
            )
            self.cluster.api.update_status(node)
            self.cluster.advance(SETTLE)
        for number, evicted in enumerate(outcome.evicted, start=1):
            self.evicted[evicted.pod.metadata.uid] = f"no. {number}, after {evicted.second} s: {evicted.message}"
            ended = self.cluster.get("Pod", evicted.pod.name, evicted.pod.namespace)
            ended.status.phase, ended.status.reason, ended.status.message = "Failed", "Evicted", evicted.message
            self.cluster.api.update_status(ended)
            self.cluster.advance(EVERY)
        self.cluster.advance(SETTLE)

    def _placed(self, target: KubeObject) -> Pod:
        if not isinstance(target, Pod):
            raise KitError(
                f"whatif pressure: {target.kind} {target.key} is neither a pod nor a node; name a pod or a node"
            )
        if not target.spec.node_name:
            raise KitError(f"whatif pressure: pod {target.key} is not on a node; `explain` shows the reason")
        return target

    def _stated(self, text: str) -> tuple[str, int]:
        name, _, amount = text.rpartition("=")
        target = find_target(self.dump, name) if name else None
        if not isinstance(target, Pod):
            raise KitError(f"whatif pressure: {text!r}: must be POD=AMOUNT, the memory usage of a pod on the node")
        return target.key, _quantity(amount, "whatif pressure").value()

    def _known(self, node: str) -> Node:
        found = next(
            (candidate for candidate in self.cluster.api.store.list(Node, copy=False) if candidate.name == node), None
        )
        if found is None:
            raise NotFound("nodes", node)
        return found

    def retry(self) -> None:
        """Try the waiting pods once more, as the scheduler's queue does after minutes without an event for them."""
        waiting = {uid for uid, pod in self.pods().items() if not pod.spec.node_name}
        if waiting:
            self.cluster.retry_unschedulable()
            after = [pod for uid, pod in self.pods().items() if uid in waiting]
            if any(pod.spec.node_name or pod.status.nominated_node_name for pod in after):
                self.cluster.advance(SETTLE)
            self._retried = {uid for uid in waiting if (pod := self.pods().get(uid)) and pod.spec.node_name}

    def gaps(self, concerned: set[str]) -> list[Gap]:
        """Return the distinct gaps of concerned and waiting pods."""
        found = dict.fromkeys([*self.asked_gaps, *self._unread_owners(concerned), *self._webhooks()])
        leaving = [pod for pod in self.dump.pods if pod.key in concerned or pod.spec.node_name in self._drained]
        found |= dict.fromkeys(budget_gaps(self.dump, leaving))
        for pod in self.dump.pods:
            if pod.key in concerned or not pod.spec.node_name:
                found |= dict.fromkeys(gaps_of(self.dump, pod))
        return list(found)

    def _unread_owners(self, concerned: set[str]) -> Iterator[Gap]:
        """Yield a gap for each kind of controller that owns concerned pods and was not read."""
        known = {(item.kind, item.namespace, item.name) for item in self.dump.objects}
        unread_of, foreign = Counter[str](), Counter[str]()
        for pod in self.dump.pods:
            for owner in pod.metadata.owner_references if pod.key in concerned else ():
                if owner.controller and owner.kind not in (*MAKERS, "Node"):
                    foreign[owner.kind] += 1
                    continue
                unread = not {(owner.kind, pod.namespace, owner.name), (owner.kind, "", owner.name)} & known
                unread_of[owner.kind] += bool(owner.controller and unread)
        for kind, number in foreign.items():
            yield Gap(
                kind, "", f"the controller of {counted(number, 'pod')} is not computed; on the copy it does nothing"
            )
        for kind, number in (+unread_of).items():
            again = kind == "ReplicaSet"
            what = "is made again from its pods" if again else "makes no pod again on the copy"
            yield Gap(
                kind, "", f"the controller of {counted(number, 'pod')} was not read; it {what}", decides=not again
            )

    def _webhooks(self) -> Iterator[Gap]:
        """Yield a gap for each kind of webhook that new pods of the copy would have met."""
        if not self.pods().keys() - self._before.keys():
            return
        for kind in WEBHOOKS:
            hooks = [
                text(hook, "name")
                for item in self.dump.objects
                if item.kind == kind
                for hook in items(data_of(item), "webhooks")
                if any({"pods", "*", "*/*"} & set(rule.get("resources") or ()) for rule in items(hook, "rules"))
            ]
            if hooks:
                named = f"{', '.join(hooks[:3])}{f' and {len(hooks) - 3} more' if len(hooks) > 3 else ''}"
                yield Gap(kind, "webhooks", f"a copy calls no webhook: {named} may change or refuse new pods")

    def effects(self) -> list[Effect]:
        """Compare the pods with those before; a new pod of the same owner is matched with one that is gone."""
        now = self.pods()
        preempted = {
            (e.involved_object.namespace, e.involved_object.name): e.message
            for e in self.cluster.list("Event")
            if isinstance(e, Event) and e.reason == "Preempted"
        }
        new: dict[tuple[str, str, str], list[Pod]] = {}
        for uid, pod in now.items():
            if uid not in self._before:
                new.setdefault(self._owner(pod), []).append(pod)
        found, evicted = list(self.fates), dict[str, Effect]()
        for uid, pod in self._before.items():
            if pod.status.phase in TERMINAL_PHASES:
                continue
            later = now.get(uid)
            leaving = later is not None and later.metadata.deletion_timestamp is not None
            if uid in self.evicted:
                places = new.get(self._owner(pod), [])
                to = places.pop(0).spec.node_name if places else ""
                evicted[uid] = Effect(pod.key, "evicted", pod.spec.node_name, to, self.evicted[uid])
                continue
            if later is not None and not (leaving and pod.metadata.deletion_timestamp is None):
                found += self._same(pod, later)
                continue
            places = new.get(self._owner(pod), [])
            why = preempted.get((pod.namespace, pod.name), "")
            if not places and leaving and self._owner(pod)[1] != "Pod":
                said = "its node does not confirm its end, and its controller makes no other until then"
                found.append(Effect(pod.key, "stuck", pod.spec.node_name, why=said))
                continue
            if not places:
                found.append(self._ended(pod, why))
                continue
            later = places.pop(0)
            found.append(_moved(pod, later, why or self._late(later)))
        for pods in new.values():
            found += [_added(pod, self._late(pod)) for pod in pods]
        return [*(evicted[uid] for uid in self.evicted if uid in evicted), *found]

    def _owner(self, pod: Pod) -> tuple[str, str, str]:
        above = root_of(self.dump, pod)
        return (pod.namespace, above.kind, above.name) if above is not None else (pod.namespace, "Pod", pod.name)

    def _late(self, pod: Pod) -> str:
        """Return when the scheduler tries a pod that nothing holds but no event concerns; "" = it needs no event."""
        if pod.metadata.uid not in self._retried:
            return ""
        release = self.cluster.release
        return f"nothing holds it; no event concerns it, so it is tried again at the latest after {retry_text(release)}"

    def _ended(self, pod: Pod, preempted: str) -> Effect:
        if preempted:
            return Effect(pod.key, "preempted", pod.spec.node_name, why=preempted)
        kind, name = self._owner(pod)[1:]
        near = next((reference for reference in pod.metadata.owner_references if reference.controller), None)
        if near is None:
            return Effect(pod.key, "gone", pod.spec.node_name, why="no controller makes it again")
        if near.kind not in (*MAKERS, "Node"):
            why = f"what the controller of {near.kind} {near.name} does is not computed"
            return Effect(pod.key, "unknown", pod.spec.node_name, why=why)
        refusal = self._refusal(pod.namespace, near)
        if refusal:
            return Effect(pod.key, "refused", pod.spec.node_name, why=refusal)
        return Effect(pod.key, "ends", pod.spec.node_name, why=f"{kind} {name} wants no pod in its place")

    def _refusal(self, namespace: str, owner: OwnerReference) -> str:
        """Return why the copy has not made a pod again that its controller wants; "" = it wants none."""
        about = (owner.kind, owner.name, namespace)
        for event in reversed(self.cluster.list("Event")):
            involved = event.involved_object
            if event.reason == "FailedCreate" and (involved.kind, involved.name, involved.namespace) == about:
                return str(event.message).removeprefix("(combined from similar events): ")
        found = self.cluster.api.store.find(owner.kind, owner.name, namespace, copy=False)
        wanted = getattr(getattr(found, "spec", None), "replicas", None)
        mine = [pod for pod in self.pods().values() if pod.namespace == namespace and _is_of(pod, owner)]
        active = [
            pod for pod in mine if pod.status.phase not in TERMINAL_PHASES and not pod.metadata.deletion_timestamp
        ]
        if not isinstance(wanted, int) or len(active) >= wanted:
            return ""
        return f"{owner.kind} {owner.name} wants {counted(wanted, 'pod')} and has {len(active)}"

    def _same(self, pod: Pod, later: Pod) -> list[Effect]:
        if not pod.spec.node_name and later.spec.node_name:
            return [Effect(pod.key, "placed", "", later.spec.node_name, self._late(later))]
        ignored = root_kind(later) == "DaemonSet" or MIRROR in later.metadata.annotations
        if pod.spec.node_name in self._drained and later.spec.node_name and not ignored:
            return [Effect(pod.key, "stays", pod.spec.node_name, later.spec.node_name)]
        return []


def _is_of(pod: Pod, owner: OwnerReference) -> bool:
    return any(
        reference.controller and (reference.kind, reference.name) == (owner.kind, owner.name)
        for reference in pod.metadata.owner_references
    )


def root_kind(pod: Pod) -> str:
    """Return the kind of a pod's controller; "" = none."""
    return next((reference.kind for reference in pod.metadata.owner_references if reference.controller), "")


def _moved(pod: Pod, later: Pod, why: str) -> Effect:
    if later.spec.node_name:
        return Effect(pod.key, "moves", pod.spec.node_name, later.spec.node_name, why)
    return Effect(pod.key, "pending", pod.spec.node_name, "", _message(later) or why)


def _added(pod: Pod, why: str) -> Effect:
    if pod.spec.node_name:
        return Effect(pod.key, "new", "", pod.spec.node_name, why)
    return Effect(pod.key, "pending", "", "", _message(pod))


def _message(pod: Pod) -> str:
    return next((condition.message for condition in pod.status.conditions if condition.type == "PodScheduled"), "")


def _whole(text: str, what: str) -> int:
    if not text.isdecimal() or int(text) > 10_000:
        raise KitError(f"{what}: must be a whole number from 0 to 10000, got {text!r}")
    return int(text)


def _quantity(text: str, what: str) -> Quantity:
    try:
        return Quantity(text)
    except QuantityError as error:
        raise KitError(f"{what}: {error}") from error


def _own_release(dump: Dump) -> Release:
    """Return the release of the cluster's oldest kubelet that the kit supports, else the dump's."""
    names = {
        ".".join(str((node.status.node_info or {}).get("kubeletVersion") or "").removeprefix("v").split(".")[:2])
        for node in dump.nodes
    }
    known = sorted((name for name in names if name in RELEASES), key=RELEASES.index)
    return Release(known[0]) if known else dump.release


QUESTIONS: dict[str, tuple[Callable[..., None], int, int, str]] = {
    "drain": (_Trial.drain, 1, 1, "drain NODE"),
    "lose": (_Trial.lose, 1, 1, "lose NODE, lose LABEL=VALUE"),
    "deschedule": (_Trial.deschedule, 0, 0, "deschedule: as the descheduler, for spread constraints"),
    "scale-down": (_Trial.scale_down, 0, 0, "scale-down: remove the nodes that the cluster autoscaler may remove"),
    "add": (_Trial.add, 1, 2, "add NODE [COUNT]: nodes like this one"),
    "scale": (_Trial.scale, 2, 2, "scale KIND/NAME REPLICAS"),
    "apply": (_Trial.apply, 1, 1, "apply FILE"),
    "upgrade": (_Trial.upgrade, 1, 1, "upgrade RELEASE"),
    "resize": (_Trial.resize, 2, 30, f"resize POD {resizing.USAGE}"),
    "vertical": (
        _Trial.vertical,
        0,
        1,
        "vertical [KIND/NAME]: as the vertical pod autoscaler, for its recommendations or for the usage of a workload",
    ),
    "pressure": (
        _Trial.pressure,
        2,
        20,
        "pressure NODE memory|memory=AMOUNT|disk|inodes|pids [POD=AMOUNT that it uses], pressure POD memory=AMOUNT",
    ),
}
"""Verb -> its method, the minimum and maximum number of arguments, and its usage."""


def _parsed(question: str) -> tuple[Callable[..., None], list[str]]:
    verb, *words = question.split()[:40] or [""]
    if verb not in QUESTIONS:
        raise KitError(
            f"whatif: unsupported question {question!r}; valid questions: "
            f"{'; '.join(row[3] for row in QUESTIONS.values())}"
        )
    ask, least, most, usage = QUESTIONS[verb]
    if not least <= len(words) <= most:
        raise KitError(f"whatif: {question!r}: wrong number of arguments; usage: {usage}")
    return ask, words
