"""A quota manager by scheduling gates: pods that exceed the quota wait instead of being rejected.

A ResourceQuota rejects a pod at its creation, and the creator must try again. This manager follows the Kubernetes blog
on scheduling readiness (1.26): it adds a gate to every new pod and removes it, oldest pod first, as soon as there is
quota for the pod. Kubernetes itself has no such manager; this one is the kit's own.
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
    """A quota for the requests of all pods that are created while it exists.

    Attributes:
        hard: the maximum total of the requests of pods without the gate.
        gate: the name of the gate.
        namespaces: the namespaces of the quota; () = all.
    """

    hard: ResourceList
    gate: str = "example.com/quota-check"
    namespaces: tuple[str, ...] = ()

    @classmethod
    def of(cls, hard: Mapping[str, str | int], **settings: object) -> GateManager:
        """Return a manager for these limits: `GateManager.of({"cpu": "4"}, namespaces=("team",))`."""
        amounts = {name: Quantity(amount) for name, amount in hard.items()}
        return cls(amounts, **settings)  # type: ignore[arg-type]

    def mutate(self, pod: Pod) -> None:
        """Add the gate to a new pod, in place, as a webhook would."""
        if self._is_here(pod) and all(gate.name != self.gate for gate in pod.spec.scheduling_gates):
            pod.spec.scheduling_gates.append(PodSchedulingGate(name=self.gate))

    def sync(self, api: APIServer) -> None:
        """Remove the gate from every pod for which there is quota; a pod that does not fit does not block others."""
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
        """Return the total requests of the pods that have no gate and have not finished."""
        total: ResourceList = {}
        for pod in pods:
            if not self._waits(pod) and pod.status.phase not in TERMINAL_PHASES:
                add_to(total, pod_requests(pod))
        return total

    def _is_here(self, pod: Pod) -> bool:
        return not self.namespaces or pod.namespace in self.namespaces

    def _waits(self, pod: Pod) -> bool:
        return any(gate.name == self.gate for gate in pod.spec.scheduling_gates)
