"""Pulls images before containers start, and retries failed pulls.

A failed pull is tried again after 10, 20, 40, … seconds, at most every five minutes; meanwhile the container waits in
`ImagePullBackOff`.

Source: kubelet images imageManager.EnsureImageExists, imagePullBackOff; kuberuntime startContainer.
"""

from __future__ import annotations

from collections.abc import Iterable

from kitlib.api.core import Container, Pod
from kitlib.api.podresources import field_path
from kitlib.kubelet.loop.container_state import ContainerState
from kitlib.kubelet.loop.interfaces import ContainerProblem, Dependencies
from kitlib.kubelet.loop.pod_worker import PodWorker

BACK_OFF = "ImagePullBackOff"
PULL_FAILED = "ErrImagePull"


class ImagePuller:
    """The image puller of one node.

    Args:
        node: the runtime with the images, the release of the messages, the reports and the timeline.
    """

    def __init__(self, node: Dependencies) -> None:
        self._release, self._runtime, self._reports = node.config.release, node.runtime, node.reports
        self._timeline, self._clock = node.timeline, node.clock

    def ensure(self, pod: Pod, container: Container) -> None:
        """Pull a container's image if it is not on the node; images that the runtime does not model have no events.

        Raises:
            ContainerProblem: the image cannot be pulled.
        """
        image, field = container.image, field_path(pod, container)
        if any(one.name == image for one in self._runtime.images()):
            text = self._release.text("image_present").format(image=image)
            self._reports.event(pod, "Normal", "Pulled", text, field)
            return
        try:
            pulled = self._runtime.pull(image)
        except ContainerProblem:
            self._reports.event(pod, "Normal", "Pulling", f'Pulling image "{image}"', field)
            raise
        if pulled is not None:
            self._reports.images(self._runtime.images())
            self._reports.event(pod, "Normal", "Pulling", f'Pulling image "{image}"', field)
            text = f'Successfully pulled image "{image}" in 0s (0s including waiting). Image size: {pulled.size} bytes.'
            self._reports.event(pod, "Normal", "Pulled", text, field)
            self._timeline.note("image manager", "pulling image", image, f"{pulled.size} bytes", "EnsureImageExists")

    def failed(self, pod: Pod, state: ContainerState, error: ContainerProblem) -> None:
        """Record a failed start and set its back-off, which grows for a failed pull."""
        field, image = field_path(pod, state.container), state.container.image
        text = f"Error: {error.message}"
        state.problem = (error.reason, error.message)
        if error.reason == PULL_FAILED:
            state.back_off.pull_failed(self._clock())
            self._reports.event(pod, "Warning", "Failed", f'Failed to pull image "{image}": {error.message}', field)
            text = f"Error: {PULL_FAILED}"
            self._timeline.note("image manager", "cannot pull image", image, error.message, "EnsureImageExists")
        else:
            state.back_off.start_failed(self._clock())
        self._reports.event(pod, "Warning", "Failed", text, field)

    def back_off(self, workers: Iterable[PodWorker]) -> bool:
        """Report the back-off of containers with a failed pull; return whether there are any."""
        found = [(w.pod, s) for w in workers for s in w.states if s.problem[0] == PULL_FAILED]
        for pod, state in found:
            field, text = field_path(pod, state.container), f'Back-off pulling image "{state.container.image}"'
            state.problem = (BACK_OFF, f"{text}: {PULL_FAILED}: {state.problem[1]}")
            self._reports.event(pod, "Normal", "BackOff", text, field)
            self._reports.event(pod, "Warning", "Failed", f"Error: {BACK_OFF}", field)
        return bool(found)
