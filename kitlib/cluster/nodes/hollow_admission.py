"""The admission of pods on a hollow node, which refuses what a simulated node refuses without a look at its kernel.

Checked are sysctls, the platform, resources, the predicates, AppArmor and declared features. Not checked are pressure,
the topology of CPUs, memory and devices, and the node's shutdown: a hollow node has no kernel that would have them.

Source: kubelet canAdmitPod; rejectPod; kubemark's hollow kubelet, which has the same handlers.
"""

from __future__ import annotations

from collections.abc import Iterable

from kitlib.api.core import Node, Pod
from kitlib.api.release import Release
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.loop.apparmor import refuse_profiles
from kitlib.kubelet.loop.predicate import (
    PodRefusal,
    Room,
    asked_of,
    check_features,
    check_platform,
    check_room,
    check_sysctls,
)


class HollowAdmission:
    """The admitted pods of one hollow node.

    Args:
        machine: the node's machine.
        settings: the settings of its kubelet.
        gates: the release that the node follows, with the feature gates of the settings.
    """

    def __init__(self, machine: MachineInfo, settings: KubeletSettings, gates: Release) -> None:
        self._machine, self._settings, self._gates = machine, settings, gates
        self._pods: dict[str, tuple[Pod, dict[str, int]]] = {}
        self._asked: dict[str, int] = {}

    def admit(self, pod: Pod, node: Node) -> tuple[PodRefusal | None, list[Pod]]:
        """Admit a pod and count its requests, or return the reason of its rejection.

        Args:
            pod: the pod.
            node: the Node object: its labels, taints and allocatable amounts.

        Returns:
            The rejection, and the pods to preempt for a critical pod.
        """
        gates, victims = self._gates, list[Pod]()
        refused = check_sysctls(pod, self._settings.allowed_unsafe_sysctls, gates)
        refused = refused or check_platform(pod, node, gates)
        if refused is None:
            wanted = asked_of(pod, gates)
            offered = node.status.allocatable
            allocatable = {name: offered[name].milli_value() for name in wanted if name in offered}
            others = [one for one, _ in self._pods.values()]
            refused, victims = check_room(pod, wanted, Room(allocatable, self._asked), node, others, gates)
        if refused is None and not self._machine.apparmor:
            refused = refuse_profiles(pod)
        refused = refused or check_features(pod, gates)
        if refused is None:
            self.count(pod)
        return refused, victims

    def count(self, pod: Pod) -> None:
        """Count the requests of a pod that runs; after a resize those of its specification now."""
        before = self._pods.get(pod.metadata.uid)
        if before is None or before[0].metadata.generation != pod.metadata.generation:
            self.forget([pod.metadata.uid])
            asked = asked_of(pod, self._gates)
            self._add(asked, 1)
            self._pods[pod.metadata.uid] = pod, asked

    def forget(self, uids: Iterable[str]) -> None:
        """Give back what pods have requested that have ended."""
        for uid in uids:
            known = self._pods.pop(uid, None)
            if known is not None:
                self._add(known[1], -1)

    def _add(self, asked: dict[str, int], sign: int) -> None:
        for name, amount in asked.items():
            self._asked[name] = self._asked.get(name, 0) + sign * amount
