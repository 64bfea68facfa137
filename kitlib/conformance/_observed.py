"""What the replays of observed kubelets share: an observer of its reports, and the observed program's command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from kitlib.api.core import Pod, PodStatus
from kitlib.api.meta import Condition
from kitlib.kubelet.images.image_gc import Image

START = datetime(2026, 1, 1, tzinfo=UTC)


class Observer:
    """A receiver of a kubelet's reports that keeps the last status of each pod.

    Implements `kitlib.kubelet.loop.interfaces.Reports`.

    Attributes:
        statuses: last status by pod UID.
    """

    def __init__(self) -> None:
        self.statuses: dict[str, PodStatus] = {}

    def now(self) -> datetime:
        """Return a constant date: dates are not compared."""
        return START

    def event(
        self,
        about: Pod | None,
        kind: str,
        reason: str,
        message: str,
        field: str = "",
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Ignore an event: `kubelet_dynamics` compares them."""

    def status(self, pod: Pod, status: PodStatus) -> None:
        """Keep a pod's status."""
        self.statuses[pod.metadata.uid] = status

    def gone(self, pod: Pod) -> None:
        """Ignore a deleted pod."""

    def condition(self, condition: Condition) -> None:
        """Ignore a condition of the node."""

    def images(self, images: Sequence[Image]) -> None:
        """Ignore the list of images."""


def workload_command(command: Sequence[str]) -> list[str]:
    """Translate a command of the observed program `/hog` into one of the kit's: sleep for ever, or exit at once."""
    words = list(command)
    if words[:1] != ["/hog"]:
        return words
    return ["true"] if words[1:2] == ["true"] else ["hog"]
