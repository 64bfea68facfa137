"""A quota manager by scheduling gates: pods that exceed the quota are kept waiting, not refused.

A ResourceQuota refuses a pod at its creation, and its creator must try again. This manager, as the Kubernetes blog
on scheduling readiness (1.26) describes it, gives every new pod a gate instead, and takes the gate away, oldest pod
first, as soon as there is quota for the pod. Kubernetes itself has no such manager; this one is the kit's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kitlib.api.core import TERMINAL_PHASES, Pod, PodSchedulingGate, ResourceList
from kitlib.api.podresources import add_to, pod_requests
from kitlib.api.resource import Quantity
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission.apiserver import APIServer


@dataclass(frozen=True)
class GateManager:
    """Guards the requests of all pods that were made while it was there.

    Attributes:
        hard: what the pods without the gate may request together.
        gate: its name.
        namespaces: where it works; () = everywhere.
    """

    hard: ResourceList
    gate: str = "example.com/quota-check"
    namespaces: tuple[str, ...] = ()

    @classmethod
    def of(cls, hard: Mapping[str, str | int], **settings: object) -> GateManager:
        """`GateManager.of({"cpu": "4"}, namespaces=("team",))`."""
        amounts = {name: Quantity(amount) for name, amount in hard.items()}
        return cls(amounts, **settings)  # type: ignore[arg-type]

    def mutate(self, pod: Pod) -> None:
        """The webhook: a new pod gets the gate, in place."""
        if self._is_here(pod) and all(gate.name != self.gate for gate in pod.spec.scheduling_gates):
            pod.spec.scheduling_gates.append(PodSchedulingGate(name=self.gate))

    def sync(self, api: APIServer) -> None:
        """Take the gate from every pod for which there is quota; one that does not fit does not hold up others."""
        pods = [pod for pod in api.store.list(Pod, copy=False) if self._is_here(pod)]
        used = self.used(pods)
        for pod in pods:
            if not self._waits(pod) or pod.metadata.deletion_timestamp is not None:
                continue
            asked = pod_requests(pod)
            zero = Quantity.from_int(0, "DecimalSI")
            if all(used.get(name, zero) + asked.get(name, zero) <= most for name, most in self.hard.items()):
                changed = deepcopy(pod)
                changed.spec.scheduling_gates = [g for g in pod.spec.scheduling_gates if g.name != self.gate]
                api.update(changed)
                add_to(used, asked)

    def used(self, pods: Iterable[Pod]) -> ResourceList:
        """What the pods without the gate request together, as long as they have not ended."""
        total: ResourceList = {}
        for pod in pods:
            if not self._waits(pod) and pod.status.phase not in TERMINAL_PHASES:
                add_to(total, pod_requests(pod))
        return total

    def _is_here(self, pod: Pod) -> bool:
        return not self.namespaces or pod.namespace in self.namespaces

    def _waits(self, pod: Pod) -> bool:
        return any(gate.name == self.gate for gate in pod.spec.scheduling_gates)
