"""VolumeBinding: the node can use the volumes of the pod's claims, or volumes for them exist or can be provisioned.

Claims of a class with `volumeBindingMode: WaitForFirstConsumer` are bound when the pod is placed: to an unbound volume
that fits and is usable on the node, or to a new volume if the class allows the node's topology and (for drivers that
publish it) enough capacity is left there. Reserve assumes the result of Filter, so that the next pod does not get the
same volume; PreBind writes it and waits until the volume controller has bound the claims.

Source: plugins/volumebinding (volume_binding.go, binder.go); KEP-1472.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kitlib.api.core import Node, PersistentVolume, PersistentVolumeClaim, Pod
from kitlib.api.errors import KitError
from kitlib.api.persistent_volume import class_name
from kitlib.api.selectors import LabelSelectorMatcher, usable_on
from kitlib.api.serialize import deepcopy
from kitlib.api.storage import CSIStorageCapacity, TopologySelectorTerm
from kitlib.scheduler.framework.assume_cache import AssumeCache, VolumesInAPI
from kitlib.scheduler.framework.plugin import SKIP, Context, PreFilterResult, Scores
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import SUCCESS, Code, Rows, Status, Verdicts
from kitlib.scheduler.framework.volumes import (
    NO_PROVISIONER,
    SELECTED_NODE,
    ClaimUse,
    Volumes,
    bind_volume_to_claim,
    claims_used,
    find_matching_volume,
    is_for_pod,
    is_fully_bound,
    waits_for_consumer,
)
from kitlib.scheduler.plugins.descriptions import VolumeBindingDescription

DEFAULT_SHAPE = ({"utilization": 0, "score": 10}, {"utilization": 100, "score": 0})
"""The default of the argument `shape`. Source: SetDefaults_VolumeBindingArgs."""
UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
NODE_CONFLICT = "node conflict"
"""A placeholder for the release's message."""
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
VOLUME_MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


BIND_TIMEOUT_SECONDS = 600
"""The default of the argument `bindTimeoutSeconds`."""


@dataclass
class PodVolumes:
    """The volumes for a pod's unbound claims on one node.

    Attributes:
        bindings: (volume, claim) pairs of volumes that exist.
        provisions: claims that need a new volume.
        capacities: claim name -> the published capacity that a new volume would be taken from.
        reasons: why the node cannot serve the pod's claims; () = it can.
    """

    bindings: list[tuple[PersistentVolume, PersistentVolumeClaim]] = field(default_factory=list)
    provisions: list[PersistentVolumeClaim] = field(default_factory=list)
    capacities: dict[str, CSIStorageCapacity] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()


@dataclass
class PodVolumeClaims:
    """A pod's claims by their state, and the volumes found for them.

    Attributes:
        assumed: the cluster's assumed volumes and claims.
        bound: the claims with a volume.
        to_bind: the claims that get a volume when the pod is placed.
        by_node: node that passed Filter -> the volumes for `to_bind` there.
        timeout_text: the release's message about a wait that was too long.
    """

    assumed: AssumeCache

    bound: list[PersistentVolumeClaim] = field(default_factory=list)
    to_bind: list[PersistentVolumeClaim] = field(default_factory=list)
    by_node: dict[str, PodVolumes] = field(default_factory=dict)
    timeout_text: str = ""


NOTHING, UNUSED = PodVolumes(), AssumeCache(Volumes())


class VolumeBinding(VolumeBindingDescription):
    """The plugin that finds the nodes on which all of a pod's claims can be served, and binds the claims."""

    def __init__(self, arguments: Mapping[str, Any] | None = None) -> None:
        super().__init__(arguments)
        points = self.arguments.get("shape") or DEFAULT_SHAPE
        self.shape = [(int(point["utilization"]), int(point["score"]) * 10) for point in points]
        self._timeout_ms = int(self.arguments.get("bindTimeoutSeconds", BIND_TIMEOUT_SECONDS)) * 1000

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        used = claims_used(info.pod)
        if not used:
            return PreFilterResult(SKIP)
        volumes = context.volumes
        claims = PodVolumeClaims(volumes.assumed, timeout_text=context.release.text("volume_bind_timeout"))
        found: list[PersistentVolumeClaim] = []
        for one in used:
            claim = volumes.claim(info.pod.namespace, one.name)
            problem = _problem(one, claim, info.pod)
            if problem or claim is None:
                return self._rejected(problem)
            found.append(claim)
        # the claims as assumed: one that another pod shares may have a selected node that the API does not show yet
        for claim in map(volumes.assumed.claim, found):
            if is_fully_bound(claim):
                claims.bound.append(claim)
            elif not claim.spec.volume_name and waits_for_consumer(claim, volumes):
                claims.to_bind.append(claim)
            else:  # a claim with a user's `volumeName` waits for the volume controller too
                return self._rejected(UNBOUND_IMMEDIATE)
        return PreFilterResult(claims)

    def _rejected(self, reason: str) -> PreFilterResult:
        return PreFilterResult(status=Status(Code.UnschedulableAndUnresolvable, (reason,), self.name))

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        conflict = context.release.text("volume_node_conflict")
        for place, row in enumerate(rows):
            try:
                node = context.snapshot.nodes[row]
                answer = find_pod_volumes(state, node, context.volumes)
            except ClassError as error:  # an error ends the cycle, so the other rows do not matter
                found.reject_row(place, Code.Error, (str(error),))
                break
            if not answer.reasons:
                if state.to_bind:
                    state.by_node[node.name] = answer
            else:
                words = tuple(conflict if reason is NODE_CONFLICT else reason for reason in answer.reasons)
                found.reject_row(place, Code.UnschedulableAndUnresolvable, words)
        return found

    def pre_score(self, info: PodInfo, context: Context, rows: Rows) -> Any:
        if context.release.enabled("StorageCapacityScoring"):
            claims = (info.states or {}).get(self.name)
            return claims.by_node if isinstance(claims, PodVolumeClaims) else None
        return SKIP if context.release.enabled("KitNodeAffinityScoreSkips") else None

    def score(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Scores:
        """Return points for the storage left free by the pod's new claims; without StorageCapacityScoring 0 everywhere.

        Source: VolumeBinding.Score; KEP-4049.
        """
        found = np.zeros(len(rows), np.int64)
        if not state:
            return found
        from kitlib.scheduler.plugins.volume_scorer import storage_score, storage_used

        for place, row in enumerate(rows):
            answer = state.get(context.snapshot.names[row], NOTHING)
            found[place] = storage_score(
                storage_used(answer.bindings, answer.provisions, answer.capacities), self.shape
            )
        return found

    def reserve(self, info: PodInfo, node: Node) -> Status:
        """Assume the volumes and claims of the chosen node. Source: AssumePodVolumes."""
        answer, assumed = _answer(info, node)
        for volume, claim in answer.bindings:
            assumed.assume_volume(volume, bind_volume_to_claim(volume, claim))
        for claim in answer.provisions:
            assumed.assume_claim(claim, _selected(claim, node))
        return SUCCESS

    def unreserve(self, info: PodInfo, node: Node) -> None:
        """Show the API's objects again; what PreBind has written stays. Source: RevertAssumedPodVolumes."""
        answer, assumed = _answer(info, node)
        for volume, _ in answer.bindings:
            assumed.restore_volume(volume.name)
        for claim in answer.provisions:
            assumed.restore_claim(claim)

    def pre_bind(self, info: PodInfo, node: Node) -> Status:
        """Write the volumes and claims, then wait for the volume controller. Source: BindPodVolumes, bindAPIUpdate."""
        answer, assumed = _answer(info, node)
        write = assumed.write
        if write is None or not (answer.bindings or answer.provisions):
            return SUCCESS
        try:
            for volume, claim in answer.bindings:
                made = bind_volume_to_claim(volume, claim)
                if made is not volume:  # else the volume names the claim already
                    write(made)
            for claim in answer.provisions:
                write(_selected(claim, node))
        except KitError as error:
            return Status(Code.Error, (str(error),), self.name)
        # The first check is a second later, even if the volume controller is faster: PollUntilContextTimeout is called
        # with immediate=false.
        return Status(Code.Wait, ("waiting for the volume controller to bind the pod's claims",), self.name)

    def pre_bind_again(self, info: PodInfo, node: Node, waited_ms: int) -> Status:
        answer, assumed = _answer(info, node)
        if waited_ms >= self._timeout_ms:
            assert info.states is not None
            text = info.states[self.name].timeout_text
        else:
            found = check_bindings(answer, node, assumed.api)
            if found is True:
                return SUCCESS
            if found is False:
                return Status(Code.Wait, (), self.name)
            text = found
        return Status(Code.Error, (f"binding volumes: {text}",), self.name)


def _answer(info: PodInfo, node: Node) -> tuple[PodVolumes, AssumeCache]:
    """Return Filter's result for the node and the assumed objects; empty ones if no claim needs a volume."""
    state = info.states.get(VolumeBinding.name) if info.states is not None else None
    if not isinstance(state, PodVolumeClaims):
        return NOTHING, UNUSED
    return state.by_node.get(node.name, NOTHING), state.assumed


def _selected(claim: PersistentVolumeClaim, node: Node) -> PersistentVolumeClaim:
    """Return the claim with the chosen node, the signal for the volume controller and the provisioner to begin."""
    made = deepcopy(claim)
    made.metadata.annotations = {**made.metadata.annotations, SELECTED_NODE: node.name}
    return made


def check_bindings(answer: PodVolumes, node: Node, volumes: VolumesInAPI) -> bool | str:
    """Return whether all claims are bound; a text = they never will be, and the pod must be scheduled again.

    It checks the API's objects, not the assumed ones, which show the scheduler's intention only.

    Source: checkBindings.
    """
    for wanted, claim in answer.bindings:
        volume, standing = volumes.volumes.get(wanted.name), volumes.claim(claim.namespace, claim.name)
        if volume is None:
            return f'failed to check binding: could not find v1.PersistentVolume "{wanted.name}"'
        if standing is None:
            return f'failed to check binding: could not find v1.PersistentVolumeClaim "{claim.key}"'
        if not usable_on(volume, node):
            return f'pv "{volume.name}" node affinity doesn\'t match node "{node.name}": no matching NodeSelectorTerms'
        if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
            return f'ClaimRef got reset for pv "{volume.name}"'
        if not is_fully_bound(standing):
            return False
    for claim in answer.provisions:
        standing = volumes.claim(claim.namespace, claim.name)
        if standing is None:
            return f'failed to check provisioning pvc: could not find v1.PersistentVolumeClaim "{claim.key}"'
        # the provisioner removes the annotation if it cannot provision a volume for this node
        if standing.metadata.annotations.get(SELECTED_NODE) != node.name:
            return f'provisioning failed for PVC "{claim.name}"'
        if standing.spec.volume_name:
            volume = volumes.volumes.get(standing.spec.volume_name)
            if volume is None:
                return False
            if not usable_on(volume, node):
                where = f'node affinity doesn\'t match node "{node.name}"'
                return f'pv "{volume.name}" {where}: no matching NodeSelectorTerms'
        if not is_fully_bound(standing):
            return False
    return True


class ClassError(KitError):
    """A missing class of a claim whose volume is to be provisioned, which ends the cycle."""


def _problem(one: ClaimUse, claim: PersistentVolumeClaim | None, pod: Pod) -> str:
    """Return why a pod's claim cannot be used on any node; "" = it can. Source: podHasPVCs."""
    if claim is None:
        if one.ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{one.name}"'
        return f'persistentvolumeclaim "{one.name}" not found'
    if claim.status.phase == "Lost":
        volume = claim.spec.volume_name
        return f'persistentvolumeclaim "{one.name}" bound to non-existent persistentvolume "{volume}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{one.name}" is being deleted'
    return is_for_pod(claim, pod) if one.ephemeral else ""


def find_pod_volumes(claims: PodVolumeClaims, node: Node, volumes: Volumes) -> PodVolumes:
    """Return the volumes for the claims on a node, or the reasons why there are none. Source: FindPodVolumes.

    Raises:
        ClassError: a claim that needs a new volume has no class, or one that does not exist.
    """
    reasons: list[str] = []
    missing = False
    for claim in claims.bound:  # Source: checkBoundClaims, which ends at the first
        volume = volumes.volumes.get(claim.spec.volume_name)
        if volume is None:
            missing = True
            break
        if not usable_on(volumes.assumed.volume(volume), node):
            reasons.append(NODE_CONFLICT)
            break
    found = PodVolumes()
    reason = _find_unbound(claims.to_bind, node, volumes, found)
    found.reasons = (*reasons, *((reason,) if reason else ()), *((VOLUME_MISSING,) if missing else ()))
    return found


def _find_unbound(claims: list[PersistentVolumeClaim], node: Node, volumes: Volumes, found: PodVolumes) -> str:
    """Add the volumes for unbound claims on the node to `found`; return why there are none, "" = there are."""
    find: list[PersistentVolumeClaim] = []
    for claim in claims:
        selected = claim.metadata.annotations.get(SELECTED_NODE)
        # a provisioner may be at work for the selected node already. Source: FindPodVolumes
        if selected is not None and selected != node.name:
            return BIND_CONFLICT
        (find if selected is None else found.provisions).append(claim)
    taken: set[str] = set()
    # the smallest claim first: it takes the smallest volume that fits, which leaves larger ones to larger claims
    for claim in sorted(find, key=_size):
        volume = find_matching_volume(claim, volumes.latest_volumes(class_name(claim)), node, taken)
        if volume is not None:
            taken.add(volume.name)
            found.bindings.append((volume, claim))
        else:
            found.provisions.append(claim)
    for claim in found.provisions:
        capacity = _provisioning(claim, node, volumes)
        if isinstance(capacity, str):
            return capacity
        if capacity is not None:
            found.capacities[claim.name] = capacity
    return ""


def _size(claim: PersistentVolumeClaim) -> int:
    asked = claim.spec.resources.requests.get("storage")
    return asked.value() if asked is not None else 0


def _provisioning(claim: PersistentVolumeClaim, node: Node, volumes: Volumes) -> CSIStorageCapacity | str | None:
    """Return the capacity for a new volume, None if the driver publishes none, or a reason why it is not possible.

    Source: checkVolumeProvisions, hasEnoughCapacity.
    """
    name = class_name(claim)
    if not name:
        raise ClassError(f'no class for claim "{claim.namespace}/{claim.name}"')
    storage_class = volumes.classes.get(name)
    if storage_class is None:
        raise ClassError(f'failed to find storage class "{name}"')
    if not storage_class.provisioner or storage_class.provisioner == NO_PROVISIONER:
        return BIND_CONFLICT
    if storage_class.allowed_topologies and not any(
        _in_topology(term, node) for term in storage_class.allowed_topologies
    ):
        return BIND_CONFLICT
    driver = volumes.drivers.get(storage_class.provisioner)
    if driver is None or not driver.spec.storage_capacity or "storage" not in claim.spec.resources.requests:
        return None
    size = _size(claim)
    for capacity in volumes.capacities:
        if capacity.storage_class_name != storage_class.name:
            continue
        limit = capacity.maximum_volume_size if capacity.maximum_volume_size is not None else capacity.capacity
        if limit is None or limit.value() < size or capacity.node_topology is None:
            continue
        if LabelSelectorMatcher(capacity.node_topology).matches(node.metadata.labels):
            return capacity
    return NO_SPACE


def _in_topology(term: TopologySelectorTerm, node: Node) -> bool:
    return all(
        node.metadata.labels.get(expression.key) in expression.values for expression in term.match_label_expressions
    )
