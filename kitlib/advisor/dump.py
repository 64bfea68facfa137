"""A cluster as `kubectl get … -o json` (or yaml) printed it: its objects, and a scheduler for them.

The command that prints them is `COMMAND`; its output is the input of `kitlib explain`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar, cast

from kitlib.advisor.counted_statuses import fill_in_statuses
from kitlib.advisor.findings import Gap
from kitlib.advisor.printed import check_end, printed
from kitlib.api.apps import ReplicaSet, StatefulSet
from kitlib.api.boundary import guarded
from kitlib.api.collector import collector_paused
from kitlib.api.core import (
    Event,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodResourceClaim,
    ReplicationController,
    Service,
)
from kitlib.api.defaults import set_defaults
from kitlib.api.devices import DeviceClass, ResourceClaim, ResourceSlice
from kitlib.api.errors import Forbidden, KitError, ManifestError, NotFound
from kitlib.api.meta import KubeObject, ObjectMeta, OwnerReference
from kitlib.api.pod_strategy import merge_label_keys
from kitlib.api.policy import PodDisruptionBudget, PriorityClass
from kitlib.api.release import Release, is_newer_than_known, is_older_than_known, reported_release
from kitlib.api.serialize import Source, deepcopy, from_dict, load
from kitlib.api.storage import StorageClass
from kitlib.apiserver.admission.priority import admit_priority, system_priority_classes
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.changes import ReleaseChange, changes

T = TypeVar("T", bound=KubeObject)
COMMAND = (
    "kubectl get nodes,pods,ns,svc,rc,rs,sts,deploy,ds,jobs,cj,hpa,quota,limits,pdb,pc,pvc,pv,sc,"
    "csinodes,csidrivers,csistoragecapacities,volumeattachments -A -o json"
)
"""The command that prints all objects that answers use; the kit's documents and messages use it too."""


@dataclass
class Dump:
    """The objects of a cluster at one moment.

    Attributes:
        objects: all objects.
        release: release of the scheduler.
        profile: plugins of the scheduler; None = the defaults.
        left_out: parts of the cluster that no answer takes into account, as text; "" = none. See `left_out_of`.
        listed: kinds that were read completely, including those without objects.
        server: version that the API server reports; "" = not known.
        release_origin: origin of the release if the nodes determine it, one sentence without its full stop; "" = it was
            given, or it is the newest one.
        uncounted: kind and key of budgets and quotas that the cluster has not counted -> the obstacle to counting them
            here; "" = they are counted here.
    """

    objects: Sequence[KubeObject]
    release: Release = field(default_factory=Release.followed)
    profile: Profile | None = None
    left_out: str = ""
    listed: frozenset[str] = frozenset()
    server: str = ""
    release_origin: str = ""
    uncounted: dict[tuple[str, str], str] = field(default_factory=dict, repr=False)
    _of_kind: dict[type[KubeObject], Sequence[KubeObject]] = field(default_factory=dict, init=False, repr=False)
    _without: dict[str, list[Gap]] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, *sources: Source, release: Release | str | None = None, profile: Profile | None = None) -> Dump:
        """Read the output of kubectl.

        Raises:
            ManifestError: the text is not that output.
            KitError: the output has no node.
        """
        read: list[KubeObject] = []
        for source in sources:
            try:
                read += load(printed(source))
            except ManifestError:
                check_end(source)
                raise
        return cls._of(read, release, profile)

    @classmethod
    def of_items(
        cls,
        items: Iterable[dict[str, Any]],
        *,
        release: Release | str | None = None,
        profile: Profile | None = None,
        listed: Iterable[str] = (),
    ) -> Dump:
        """Make a dump from manifests as plain data.

        Args:
            items: the manifests.
            release: release of the scheduler; None = the release that the kit follows.
            profile: plugins of the scheduler; None = the defaults.
            listed: kinds that were listed successfully.

        Raises:
            ManifestError: a manifest is invalid.
            KitError: there is no node.
        """
        return cls._of([from_dict(item) for item in items], release, profile, frozenset(listed))

    @classmethod
    @guarded("dump")
    @collector_paused()
    def _of(
        cls,
        read: Sequence[KubeObject],
        release: Release | str | None,
        profile: Profile | None,
        listed: frozenset[str] = frozenset(),
    ) -> Dump:
        objects = [set_defaults(obj) for obj in read]
        classes = [obj for obj in objects if isinstance(obj, PriorityClass)] or system_priority_classes()
        classes += system_priority_classes()
        followed, origin = _release_of(objects, release)
        classless = list[str]()
        for pod in (obj for obj in objects if isinstance(obj, Pod)):
            pod.metadata.namespace = pod.metadata.namespace or "default"
            if pod.spec.priority is None:
                try:
                    admit_priority(pod, classes)
                except Forbidden:  # a manifest without its PriorityClass; an API server has already set the number
                    classless.append(pod.key)
            merge_label_keys(pod, followed)
        made = cls(objects, followed, profile, listed=listed, release_origin=origin)
        if not made.nodes:
            raise KitError(f"the input contains no Node; use the output of {COMMAND}")
        for key in classless:
            said = "the pod's priority, which counts as 0: its class was not read"
            made._without.setdefault(key, []).append(Gap("PriorityClass", "", said))
        made._leave_out_volumes()
        made._leave_out_claims()
        made.uncounted |= fill_in_statuses(objects, made.has)
        return made

    def _leave_out_volumes(self) -> None:
        """Remove the pods' claims if the objects behind them were not printed.

        Otherwise every pod with a claim would be rejected because its claim "is not found".
        """
        claims = self.of(PersistentVolumeClaim)
        bound = [claim for claim in claims if claim.spec.volume_name]
        classes = [claim for claim in claims if not claim.spec.volume_name and claim.spec.storage_class_name]
        missing = [
            name
            for name, absent in (
                ("PersistentVolumeClaim", not claims),
                ("PersistentVolume", bound and not self.of(PersistentVolume)),
                ("StorageClass", classes and not self.of(StorageClass)),
            )
            if absent and name not in self.listed
        ]
        users = [pod for pod in self.pods if any(v.persistent_volume_claim or v.ephemeral for v in pod.spec.volumes)]
        if not missing or not users:
            return
        for pod in users:
            pod.spec.volumes = [v for v in pod.spec.volumes if not (v.persistent_volume_claim or v.ephemeral)]
            said = "the pod's volume claims: none of this kind in what was read"
            self._without.setdefault(pod.key, []).extend(Gap(kind, "", said) for kind in missing)

    def _leave_out_claims(self) -> None:
        """Remove the pods' device claims if a kind behind them was not printed."""
        users = [pod for pod in self.pods if pod.spec.resource_claims]
        kinds: tuple[type[KubeObject], ...] = (ResourceClaim, DeviceClass, ResourceSlice)
        missing = [kind.__name__ for kind in kinds if not self.has(kind)]
        if not users or not missing or not self.release.enabled("DynamicResourceAllocation"):
            return
        for pod in users:
            pod.spec.resource_claims = []
            said = "the pod's claims of devices: none of this kind in what was read"
            self._without.setdefault(pod.key, []).extend(Gap(kind, "", said) for kind in missing)

    def left_out_of(self, pod: Pod) -> str:
        """Return the parts that the answer about a pod does not take into account, as text; "" = none."""
        return "; ".join(filter(None, [*map(str, self._without.get(pod.key, ())), self.left_out]))

    def unread(self, pod: Pod) -> list[Gap]:
        """Return the kinds behind a pod's claims that were not read; decisions about the pod ignore these claims."""
        return list(self._without.get(pod.key, ()))

    def has(self, kind: type[KubeObject]) -> bool:
        """Return whether objects of a kind were read, or the cluster is known to have none."""
        return bool(self.of(kind)) or kind.__name__ in self.listed

    @cached_property
    def volumes(self) -> dict[str, PersistentVolume]:
        """Name -> PersistentVolume."""
        return {volume.name: volume for volume in self.of(PersistentVolume)}

    @cached_property
    def replica_sets(self) -> dict[tuple[str, str], ReplicaSet]:
        """Namespace and name -> ReplicaSet."""
        return {(replica_set.namespace, replica_set.name): replica_set for replica_set in self.of(ReplicaSet)}

    @property
    def priority_classes(self) -> list[PriorityClass]:
        """The priority classes, those of the system included."""
        names = {priority_class.name for priority_class in self.of(PriorityClass)}
        return [
            *self.of(PriorityClass),
            *(priority_class for priority_class in system_priority_classes() if priority_class.name not in names),
        ]

    @cached_property
    def newest_time(self) -> datetime | None:
        """The newest time in an object, a lower bound of the dump's time; None if no object has one."""
        found = [item.metadata.creation_timestamp for item in self.objects]
        reported = [node.status.conditions for node in self.nodes] + [pod.status.conditions for pod in self.pods]
        for conditions in reported:
            for condition in conditions:
                found += [condition.last_transition_time, condition.last_heartbeat_time]
        for event in self.of(Event):
            found += [event.last_timestamp, event.event_time]
        return max((release for release in found if release is not None), default=None)

    @cached_property
    def nodes_without_amounts(self) -> list[str]:
        """The names of the nodes that report no allocatable amounts."""
        return [node.name for node in self.nodes if not node.status.allocatable]

    @property
    def unknown_releases(self) -> dict[str, list[str]]:
        """Reported version that the kit does not know -> the names of its nodes, "" for the API server."""
        found: dict[str, list[str]] = {}
        if is_newer_than_known(self.server):
            found[self.server] = [""]
        for node in self.nodes:
            version = str((node.status.node_info or {}).get("kubeletVersion") or "")
            if is_newer_than_known(version) or is_older_than_known(version):
                found.setdefault(version, []).append(node.name)
        return found

    @property
    def unknown_release_text(self) -> str:
        """The consequence of `unknown_releases` for every answer, one sentence without its full stop; "" = none."""
        parts = []
        for version, names in sorted(self.unknown_releases.items()):
            nodes = [name for name in names if name]
            shown = f"{', '.join(nodes[:3])}{f' and {len(nodes) - 3} more' if len(nodes) > 3 else ''}"
            parts += [f"the API server is of {version}"] if "" in names else []
            parts += [f"{'node' if len(nodes) == 1 else 'nodes'} {shown} of {version}"] if nodes else []
        return f"{'; '.join(parts)}: not known here, decided as {self.release}" if parts else ""

    def of(self, kind: type[T]) -> list[T]:
        """Return all objects of a type."""
        found = self._of_kind.get(kind)
        if found is None:
            found = self._of_kind[kind] = [obj for obj in self.objects if isinstance(obj, kind)]
        return list(cast("list[T]", found))

    @property
    def nodes(self) -> list[Node]:
        return self.of(Node)

    @property
    def pods(self) -> list[Pod]:
        return self.of(Pod)

    @property
    def pending(self) -> list[Pod]:
        """The pods that wait for a node."""
        return [
            pod
            for pod in self.pods
            if not pod.spec.node_name
            and pod.status.phase in ("", "Pending")
            and pod.metadata.deletion_timestamp is None
        ]

    def pod(self, name: str = "") -> Pod:
        """Return a pod by `name` or `namespace/name`; "" = the only one that waits.

        Raises:
            NotFound: there is no such pod.
            KitError: the name is ambiguous.
        """
        if not name:
            waiting = self.pending
            if len(waiting) == 1:
                return waiting[0]
            listed = ", ".join(pod.key for pod in waiting[:10]) or "none"
            raise KitError(f"the name of a pod is required, because {len(waiting)} pods are pending: {listed}")
        name = name.removeprefix("pod/").removeprefix("pods/").removeprefix("po/")
        found = [pod for pod in self.pods if name in (pod.key, pod.name)]
        if not found:
            raise NotFound("pods", name)
        if len(found) > 1:
            raise KitError(
                f"more than one pod has this name; write NAMESPACE/NAME: {', '.join(pod.key for pod in found)}"
            )
        return found[0]

    @cached_property
    def _standing(self) -> list[PodInfo]:
        """The pods on nodes, prepared once for all schedulers, since each remedy that is tried needs a scheduler."""
        found = [PodInfo(pod, self.release) for pod in self.pods if pod.spec.node_name]
        for info in found:
            # These properties are computed at first use and cached, so later schedulers share them.
            _ = info.requests, info.non_zero, info.host_ports, info.has_affinity
        return found

    @collector_paused()
    def scheduler(self, without: Pod | None = None) -> Scheduler:
        """Return a scheduler for the cluster.

        Args:
            without: a pod that the scheduler does not count; None = all count.
        """
        pods = self.pods
        return Scheduler(
            self.nodes,
            [info for info in self._standing if info.pod is not without],
            release=self.release,
            profile=self.profile,
            namespaces=self.of(Namespace),
            services=self.of(Service),
            replication_controllers=self.of(ReplicationController),
            replica_sets=self.of(ReplicaSet),
            stateful_sets=self.of(StatefulSet),
            budgets=self.of(PodDisruptionBudget),
            volumes=self.objects,
            claims=self.objects,
            nominated=[p for p in pods if p.status.nominated_node_name and not p.spec.node_name and p is not without],
        )

    def explain(self, pod: Pod) -> Decision:
        """Return the scheduler's decision about a pod as if it had no node."""
        return self.scheduler(without=pod).explain(unbound(pod))

    def decide(self, pod: Pod, release: Release) -> Decision:
        """Return the decision about a pod under another release, as if it had no node."""
        return replace(self, release=release).explain(pod)

    def changes(self, before: Release, after: Release, settings: KubeletSettings | None = None) -> list[ReleaseChange]:
        """Return the differences for the cluster's objects between two releases; see `kitlib.study.changes`."""
        return changes(self.pods, self.nodes, self.decide, before, after, settings)

    def how_many(self, pod: Pod, most: int = 100_000) -> tuple[dict[str, int], Decision | None]:
        """Count how many more pods like this one fit; a waiting pod is the first of them, a placed one remains.

        Returns:
            Node -> number of pods, and the decision about the first one that does not fit (None if `most` was
                reached).
        """
        scheduler = self.scheduler(without=None if pod.spec.node_name else pod)
        placed: dict[str, int] = {}
        for number in range(most):
            clone = unbound(pod)
            clone.metadata.name, clone.metadata.uid = f"{pod.name}-{number}", f"clone-{number}"
            self._claims_of_its_own(clone, scheduler)
            decision = scheduler.schedule(clone)
            if not decision.suggested_host:
                return placed, decision
            placed[decision.suggested_host] = placed.get(decision.suggested_host, 0) + 1
        return placed, None

    def _claims_of_its_own(self, clone: Pod, scheduler: Scheduler) -> None:
        """Give another pod its own claims, if they are made from templates."""
        known = {status.name: status.resource_claim_name for status in clone.status.resource_claim_statuses}
        for entry in clone.spec.resource_claims:
            claim = scheduler.context.claims.find(clone.namespace, known.get(entry.name) or "")
            if entry.resource_claim_template_name is None or claim is None:
                continue
            owner = OwnerReference(
                api_version="v1", kind="Pod", name=clone.name, uid=clone.metadata.uid, controller=True
            )
            name = f"{clone.name}-{entry.name}"
            meta = ObjectMeta(name=name, namespace=clone.namespace, uid=name, owner_references=[owner])
            scheduler.context.claims.put(ResourceClaim(metadata=meta, spec=claim.spec))
            known[entry.name] = name
        clone.status.resource_claim_statuses = [
            PodResourceClaim(name=entry, resource_claim_name=name) for entry, name in known.items()
        ]


def _release_of(objects: Iterable[KubeObject], given: Release | str | None) -> tuple[Release, str]:
    """Return the release to follow, and its origin if the nodes determine it.

    The control plane is not older than its kubelets, so the newest kubelet is the best report of it in a dump.
    """
    followed = Release.of(given)
    if given is not None or followed != Release.latest():
        return followed, ""
    nodes = [item for item in objects if isinstance(item, Node)]
    reported = [str((node.status.node_info or {}).get("kubeletVersion") or "") for node in nodes]
    found = reported_release(reported)
    if found is None or found == followed:
        return followed, ""
    if any(map(is_older_than_known, reported)):
        return found, ""
    return found, f"The rules are those of {found}, the release of the newest kubelet; --release sets another one"


def unbound(pod: Pod) -> Pod:
    """Return a copy of the pod that waits for a node."""
    made = deepcopy(pod)
    made.spec.node_name, made.status.nominated_node_name, made.status.phase = "", "", "Pending"
    return made
