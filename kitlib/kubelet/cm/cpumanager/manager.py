"""The CPU manager: it decides when the CPUs in the state of its static policy reach the containers' cpusets.

A pod's admission changes the state immediately. The cpusets follow in two ways. A new container is created with the
CPUs that the state gives it at this moment (PreCreateContainer): exclusive CPUs, or the current shared pool. The
cpuset of a running container is written only at the manager's next tick (reconcileState, every 10 s from the
kubelet's start). So from the start of an exclusive container to that tick, 0 to 10 s, the containers of the shared
pool may run on its CPUs, too.

Source: cm/cpumanager/cpu_manager.go (manager), cm/internal_container_lifecycle_linux.go.
"""

from __future__ import annotations

from kitlib.api.core import Container, Pod
from kitlib.kubelet.cm.cpumanager.policy_static import StaticPolicy
from kitlib.kubelet.cm.topologymanager.hints import Hints, TopologyHint

Key = tuple[str, str]
"""Pod UID, container."""


class CPUManager:
    """The static policy as a hint provider, and the content of the containers' cpusets.

    Args:
        policy: the static policy with its state.
        before: the manager of the kubelet before its restart; None = the kubelet has not been restarted.
    """

    def __init__(self, policy: StaticPolicy, before: CPUManager | None = None) -> None:
        self.policy = policy
        self._written: dict[Key, str] = dict(before._written) if before is not None else {}
        self._last_update: dict[Key, str] = {}  # upstream's lastUpdateState, which a restart empties
        self._stale: set[Key] = set(before._stale) if before is not None else set()

    def hints(self, pod: Pod, container: Container) -> Hints:
        found = self.policy.hints(pod, container)
        return {} if found is None else {"cpu": found}

    def pod_hints(self, pod: Pod) -> Hints:
        found = self.policy.pod_hints(pod)
        return {} if found is None else {"cpu": found}

    def allocate(self, pod: Pod, container: Container, hint: TopologyHint) -> None:
        self.policy.allocate(pod, container, hint.nodes)

    def allocate_pod(self, pod: Pod, hint: TopologyHint) -> None:
        self.policy.allocate_pod(pod, hint.nodes)

    def add_container(self, uid: str, container: str, cpus: str) -> None:
        """Record the CPUs that a container was created with. Source: AddContainer."""
        self._written[uid, container] = cpus
        # Upstream records an update only for exclusive CPUs, so the next tick writes the shared pool once more.
        if self.policy.state.of(uid, container) is not None:
            self._last_update[uid, container] = cpus

    def cpus_of_running(self, uid: str, container: str, cpus: str) -> str:
        """Return the CPUs in a container's cpuset; those of the state, `cpus`, if it was not created yet."""
        return self._written.get((uid, container), cpus)

    def is_due(self, uid: str, container: str, cpus: str) -> bool:
        """Return whether the next tick writes these CPUs."""
        return self._last_update.get((uid, container)) != cpus

    def record_update(self, uid: str, container: str, cpus: str) -> None:
        """Record that a tick has written a container's CPUs."""
        self._written[uid, container] = self._last_update[uid, container] = cpus

    def release(self, uid: str, container: str) -> None:
        """Mark a container's CPUs for release at the next admission or tick."""
        # Upstream releases nothing when a container ends, because it may be restarted and must keep its CPUs. Only
        # removeStaleState does, for containers of pods that are not active any longer.
        self._written.pop((uid, container), None)
        self._last_update.pop((uid, container), None)
        self._stale.add((uid, container))

    def remove_stale_state(self) -> None:
        """Return the CPUs of released containers to the shared pool. Source: removeStaleState."""
        for uid, container in self._stale:
            self.policy.remove(uid, container)
        self._stale.clear()
