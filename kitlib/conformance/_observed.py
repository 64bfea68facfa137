"""What the observations of a real kubelet have in common: who hears its reports, what the observed program does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from kitlib.api.core import Pod, PodStatus
from kitlib.api.meta import Condition
from kitlib.kubelet.images.image_gc import Image

START = datetime(2026, 1, 1, tzinfo=UTC)


class Observer:
    """Implements `kitlib.kubelet.loop.interfaces.Reports`; keeps what it hears.

    Attributes:
        statuses: pod UID -> its last status.
    """

    def __init__(self) -> None:
        self.statuses: dict[str, PodStatus] = {}

    def now(self) -> datetime:
        """Always the same date: dates are not compared."""
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
        """Nothing: events are compared elsewhere."""

    def status(self, pod: Pod, status: PodStatus) -> None:
        """Keep a pod's status."""
        self.statuses[pod.metadata.uid] = status

    def gone(self, pod: Pod) -> None:
        """Nothing."""

    def condition(self, condition: Condition) -> None:
        """Nothing."""

    def images(self, images: Sequence[Image]) -> None:
        """Nothing."""


def workload_command(command: Sequence[str]) -> list[str]:
    """A command of the observed program, `/hog`, in the kit's words: it sleeps for ever, or ends at once."""
    words = list(command)
    if words[:1] != ["/hog"]:
        return words
    return ["true"] if words[1:2] == ["true"] else ["hog"]
