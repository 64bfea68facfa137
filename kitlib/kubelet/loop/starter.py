"""The start of a pod: its claims are prepared, then the pause container is started, then its containers.

Source: kuberuntime SyncPod, startContainer; cm.PrepareDynamicResources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from kitlib.api.core import Container, Pod
from kitlib.api.errors import KitError
from kitlib.api.podresources import field_path
from kitlib.kubelet.cm.cgroup_levels import Desired
from kitlib.kubelet.cm.resource_managers import ResourceManagers
from kitlib.kubelet.loop.backoff import BACKOFF_PERIOD
from kitlib.kubelet.loop.interfaces import ContainerProblem, Dependencies
from kitlib.kubelet.loop.killing import PodKiller
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.loop.pulling import ImagePuller
from kitlib.kubelet.pods.environment import expanded, make_environment_variables
from kitlib.kubelet.pods.objects import Objects
from kitlib.kubelet.qos.policy import SANDBOX_OOM_SCORE_ADJ, get_container_oom_score_adjust

if TYPE_CHECKING:
    from kitlib.kubelet.loop.volumes import VolumeManager


class ContainerStarter:
    """Starts the containers of one node.

    Args:
        node: the settings, the runtime, the reports, the timeline and the clock.
        rules: computes the desired content of cgroups.
        managers: the resource managers, with the assigned CPUs and devices.
        images: the image puller.
        killer: stops the container of a failed hook.
        objects: the ConfigMaps and Secrets that pods refer to.
        allocatable: resource -> allocatable amount of the node, in thousandths.
        report: writes a pod's status to the API server.
    """

    def __init__(
        self,
        node: Dependencies,
        rules: Desired,
        managers: ResourceManagers,
        images: ImagePuller,
        killer: PodKiller,
        objects: Objects,
        allocatable: Mapping[str, int],
        report: Callable[[PodWorker], None],
    ) -> None:
        self._node, self._config, self._rules, self._managers = node, node.config, rules, managers
        self._images, self._killer, self._runtime, self._reports = images, killer, node.runtime, node.reports
        self._timeline, self._clock = node.timeline, node.clock
        self._objects, self._allocatable, self._report = objects, allocatable, report

    @cached_property
    def _volumes(self) -> VolumeManager:
        from kitlib.kubelet.loop.volumes import VolumeManager  # loaded with the first pod that has volumes

        return VolumeManager(self._node, self._objects, self._allocatable)

    def volumes_ready(self, worker: PodWorker) -> bool:
        """Write the files of a pod's volumes, and return whether the pod can start."""
        return not worker.pod.spec.volumes or self._volumes.ready(worker)

    def refresh_volumes(self, workers: Iterable[PodWorker]) -> None:
        """Bring the files of running pods' volumes up to date."""
        for worker in workers:
            if worker.pod.spec.volumes:
                self._volumes.refresh(worker)

    def forget_volumes(self, worker: PodWorker) -> None:
        """Tear down the volumes of a pod that has ended; its object may still exist. Source: WaitForUnmount."""
        self._runtime.forget(worker.pod)
        if worker.pod.spec.volumes:
            self._volumes.forget(worker)

    def _claims_ready(self, worker: PodWorker) -> bool:
        """Return whether the pod's claims are prepared; report each problem once. Source: PrepareDynamicResources."""
        problem = self._managers.claim_problem(worker.pod)
        if problem and problem != worker.unprepared:
            text = f"Failed to prepare dynamic resources: {problem}"
            self._reports.event(worker.pod, "Warning", "FailedPrepareDynamicResources", text)
        worker.unprepared = problem
        return not problem

    def start(self, worker: PodWorker) -> None:
        """Start the pause container and the due containers. Source: kuberuntime SyncPod."""
        pod = worker.pod
        if worker.restarting_all:
            from kitlib.kubelet.loop.restarting import remove_all_containers  # loaded with the first such restart

            if not remove_all_containers(worker, self._runtime, self._reports, self._timeline, self._report):
                return
        if worker.starting is not None:
            if not worker.starting.done():
                return
            worker.starting = None
        due = worker.to_start(self._clock())
        if not due or not self._claims_ready(worker) or not self.volumes_ready(worker):
            return
        if not worker.has_sandbox:
            if worker.sandbox_changed:
                text = "Pod sandbox changed, it will be killed and re-created."
                self._reports.event(pod, "Normal", "SandboxChanged", text)
            worker.sandbox_changed = False
            cgroup = self._rules.sandbox_level(pod, worker.sandbox)
            try:
                address = self._runtime.run_sandbox(pod, worker.sandbox, cgroup, SANDBOX_OOM_SCORE_ADJ)
            except KitError as error:
                worker.not_before = self._clock() + BACKOFF_PERIOD
                text = f"Failed to create pod sandbox: {error}"
                self._reports.event(pod, "Warning", "FailedCreatePodSandBox", text)
                return
            # The downward API exposes the address, so it must be known before the first container starts.
            worker.has_sandbox, worker.address = True, address
        for state in due:
            if self._runtime.pid(state.id):
                continue  # it is still being stopped
            container = state.container
            given = self._managers.assigned(pod, container)
            cgroup = self._rules.container_level(pod, container, state.id, given)
            score = get_container_oom_score_adjust(pod, container, self._config.machine.memory, self._config.gates)
            try:
                self._images.ensure(pod, container)
                env = self._environment(worker.addressed(), container)
                self._runtime.start(pod, self._with_references(container, env), state.id, cgroup, score, env)
            except ContainerProblem as error:
                self._images.failed(pod, state, error)
                continue
            state.started(self._clock(), self._reports.now())
            for reason in ("Created", "Started"):
                text = self._config.release.text(f"container_{reason.lower()}").format(name=container.name)
                self._reports.event(pod, "Normal", reason, text, field_path(pod, container))
            what = f"oom_score_adj {score}" + (f", restart {state.restarts}" if state.restarts else "")
            self._timeline.note("kubelet", "starting container", f"{pod.key}/{container.name}", what, "startContainer")
            if self._managers.cpu_manager is not None:
                self._managers.cpu_manager.add_container(pod.metadata.uid, container.name, given.cpus)
                what = f"{pod.name}/{container.name}"
                self._timeline.note("cpumanager", "creating container on", what, given.cpus, "PreCreateContainer")
            if container.lifecycle is not None and container.lifecycle.post_start is not None:
                from kitlib.kubelet.loop.hooks import PostStart  # loaded with the first hook

                worker.starting = PostStart(worker, state, container.lifecycle.post_start, self._killer)
                if not worker.starting.done():
                    return
                worker.starting = None

    @staticmethod
    def _with_references(container: Container, env: dict[str, str]) -> Container:
        """Replace the references in a container's command.

        Raises:
            ContainerProblem: the command exceeds the limit of Linux.
        """
        try:
            return expanded(container, env)
        except KitError as error:
            raise ContainerProblem("RunContainerError", str(error)) from error

    def _environment(self, pod: Pod, container: Container) -> dict[str, str]:
        """Return all variables of a container: those of the manifest, then those of devices.

        Raises:
            ContainerProblem: the manifest refers to an object or a key that does not exist.

        Source: kuberuntime generateContainerConfig.
        """
        try:
            made = make_environment_variables(pod, container, self._objects, self._allocatable)
        except KitError as error:
            raise ContainerProblem("CreateContainerConfigError", str(error)) from error
        for source, keys in made.skipped.items():
            text = f"Keys [{', '.join(keys)}] from the EnvFrom {source} were skipped since they are considered invalid "
            text += "environment variable names."
            self._reports.event(pod, "Warning", "InvalidEnvironmentVariableNames", text)
        given = self._managers.environment(pod.metadata.uid, container.name)
        return made.values | given | self._managers.claim_environment(pod, container)
