"""Images are pulled before containers start: the events, the back-off and the reasons of a failed pull."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.kubelet.images.image_gc import Image
from kitlib.kubelet.loop.interfaces import ContainerProblem
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.loop.pulling import ImagePuller
from kitlib.kubelet.loop.timeline import KubeletTimeline

FIELD = "spec.containers{c}"
PULL_FAILED = ContainerProblem("ErrImagePull", "no space left")


class Node:
    """A runtime with images, and a receiver of events."""

    def __init__(self, release: str = "1.36") -> None:
        self.now = 100.0
        self.kept: list[Image] = []
        self.pulls: Image | ContainerProblem | None = None
        self.pulled: list[str] = []
        self.events: list[tuple[str, ...]] = []
        self.reported: list[list[str]] = []
        self.timeline = KubeletTimeline(lambda: self.now)
        config: Any = SimpleNamespace(release=Release(release))
        node: Any = SimpleNamespace(
            config=config, runtime=self, reports=self.Reports(self), timeline=self.timeline, clock=lambda: self.now
        )
        self.puller = ImagePuller(node)

    class Reports:
        def __init__(self, node: Node) -> None:
            self._node = node

        def event(self, about: Pod, kind: str, reason: str, message: str, field: str) -> None:
            self._node.events.append((kind, reason, message, field))

        def images(self, images: list[Image]) -> None:
            self._node.reported.append([image.name for image in images])

    def images(self) -> list[Image]:
        return self.kept

    def pull(self, image: str) -> Image | None:
        self.pulled.append(image)
        if isinstance(self.pulls, ContainerProblem):
            raise self.pulls
        if self.pulls is not None:
            self.kept.append(self.pulls)
        return self.pulls


def pod(name: str = "web") -> Pod:
    containers = [{"name": "c", "image": "app:1"}, {"name": "d", "image": "db:1"}]
    return from_dict({"metadata": {"name": name, "uid": name}, "spec": {"containers": containers}}, Pod)


@pytest.mark.parametrize(
    ("release", "more"),
    [("1.34", ""), ("1.35", " and can be accessed by the pod"), ("1.36", " and can be accessed by the pod")],
)
def test_an_image_on_the_node_is_not_pulled(release: str, more: str) -> None:
    node, made = Node(release), pod()
    node.kept = [Image("other", 1), Image("app:1", 1)]
    node.puller.ensure(made, made.spec.containers[0])
    assert node.pulled == [] and node.reported == []
    message = f'Container image "app:1" already present on machine{more}'
    assert node.events == [("Normal", "Pulled", message, FIELD)]


def test_a_pulled_image_is_reported_with_its_size() -> None:
    node, made = Node(), pod()
    node.kept, node.pulls = [Image("app:10", 1)], Image("app:1", 42)
    node.puller.ensure(made, made.spec.containers[0])
    assert node.pulled == ["app:1"]
    assert node.events == [
        ("Normal", "Pulling", 'Pulling image "app:1"', FIELD),
        (
            "Normal",
            "Pulled",
            'Successfully pulled image "app:1" in 0s (0s including waiting). Image size: 42 bytes.',
            FIELD,
        ),
    ]
    assert node.reported == [["app:10", "app:1"]]
    (entry,) = node.timeline.of("image manager")
    assert (entry.action, entry.about, entry.detail) == ("pulling image", "app:1", "42 bytes")


def test_an_image_that_the_runtime_does_not_model_has_no_events() -> None:
    node, made = Node(), pod()
    node.puller.ensure(made, made.spec.containers[0])
    assert node.pulled == ["app:1"] and node.events == [] and node.reported == []


def test_a_failed_pull_is_an_event_and_an_error() -> None:
    node, made = Node(), pod()
    node.pulls = PULL_FAILED
    with pytest.raises(ContainerProblem):
        node.puller.ensure(made, made.spec.containers[0])
    assert node.events == [("Normal", "Pulling", 'Pulling image "app:1"', FIELD)]


def worker(name: str = "web") -> PodWorker:
    return PodWorker(pod(name), datetime(2026, 1, 1, tzinfo=UTC))


def test_failed_pulls_are_tried_again_after_doubling_times_of_at_most_five_minutes() -> None:
    node, work = Node(), worker()
    state = work.mains[0]
    waits = []
    for _ in range(7):
        node.puller.failed(work.pod, state, PULL_FAILED)
        waits.append(state.back_off.not_before - node.now)
    assert waits == [10, 20, 40, 80, 160, 300, 300]
    assert state.problem == ("ErrImagePull", "no space left")
    assert node.events[:2] == [
        ("Warning", "Failed", 'Failed to pull image "app:1": no space left', FIELD),
        ("Warning", "Failed", "Error: ErrImagePull", FIELD),
    ]
    assert len(node.timeline.of("image manager")) == 7


def test_another_failed_start_is_tried_again_after_ten_seconds() -> None:
    node, work = Node(), worker()
    state = work.mains[0]
    for _ in range(2):
        node.puller.failed(work.pod, state, ContainerProblem("CreateContainerError", "no such user"))
        assert state.back_off.not_before == 110
    assert state.problem == ("CreateContainerError", "no such user")
    assert node.events == [("Warning", "Failed", "Error: no such user", FIELD)] * 2
    assert state.back_off.pulls == 0


def test_containers_wait_in_back_off_after_a_failed_pull_only() -> None:
    node, first, second = Node(), worker("a"), worker("b")
    assert node.puller.back_off([first, second]) is False
    node.puller.failed(second.pod, second.mains[0], PULL_FAILED)
    node.puller.failed(first.pod, first.mains[1], ContainerProblem("CreateContainerError", "x"))
    node.events.clear()
    assert node.puller.back_off([first, second]) is True
    back_off = 'Back-off pulling image "app:1"'
    assert second.mains[0].problem == ("ImagePullBackOff", f"{back_off}: ErrImagePull: no space left")
    assert first.mains[1].problem == ("CreateContainerError", "x")
    assert node.events == [
        ("Normal", "BackOff", back_off, FIELD),
        ("Warning", "Failed", "Error: ImagePullBackOff", FIELD),
    ]
    # the reason is now the back-off, so that the next look reports nothing
    assert node.puller.back_off([first, second]) is False
