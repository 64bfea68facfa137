"""A limit of the rate at which a controller replaces pods that end right after their creation.

Controllers of the kit act at once, which is right if the desired state can be reached. If a kubelet rejects each new
pod, the state is never reached, and the loop runs at full speed. On a real cluster the controller's client limits it:
kube-controller-manager may send 20 requests per second (`--kube-api-qps`), and 30 at once (`--kube-api-burst`).

Source: client-go flowcontrol NewTokenBucketRateLimiter; RecommendedDefaultGenericControllerManagerConfiguration.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime

from kitlib.api.core import TERMINAL_PHASES, Pod
from kitlib.controllers.informers import Delta

QPS, BURST = 20.0, 30.0
SHORT_LIFE = 1.0
"""The lifetime in seconds up to which an ended pod counts as rejected by its kubelet."""
_TOLD = 1000
log = logging.getLogger(__name__)
Key = tuple[str, ...]


class Pace:
    """The rate limit of one controller's client for the replacement of short-lived pods.

    Args:
        now, steady_now: return the cluster's date, and the time of a monotonic clock.
        requests: the number of requests that the controller sends for each such pod.
    """

    def __init__(self, now: Callable[[], datetime], steady_now: Callable[[], datetime], requests: int) -> None:
        self._now, self._steady_now, self._requests = now, steady_now, requests
        self._tokens, self._filled = BURST, steady_now()
        self._ended: dict[Key, int] = {}
        self._why: dict[Key, str] = {}
        self._told: set[tuple[Key, str]] = set()

    def note(self, change: Delta, key: Key) -> None:
        """Count a pod that has ended or was deleted within a second of its creation.

        Args:
            change: the change of a pod.
            key: the key of the pod's controller.
        """
        pod, old = change.new, change.old
        if not isinstance(pod, Pod):
            return
        over = pod.status.phase in TERMINAL_PHASES or change.type == "DELETED"
        was_over = isinstance(old, Pod) and old.status.phase in TERMINAL_PHASES
        born = pod.metadata.creation_timestamp
        if over and not was_over and born is not None and (self._now() - born).total_seconds() <= SHORT_LIFE:
            self._ended[key] = self._ended.get(key, 0) + 1
            self._why[key] = ": ".join(text for text in (pod.status.reason, pod.status.message) if text)

    def forget(self, key: Key) -> None:
        """Reset the count, because the controller has all desired pods."""
        self._ended.pop(key, None)
        self._why.pop(key, None)

    def allowed(self, key: Key, wanted: int, about: str) -> int:
        """Return the number of wanted pods that may be created now; only replacements of short-lived pods are limited.

        Args:
            key: the key of the controller.
            wanted: the number of pods to create.
            about: the controller's name for the log.
        """
        replaced = min(wanted, self._ended.get(key, 0))
        if not replaced:
            return wanted
        now = self._steady_now()
        self._tokens = min(BURST, self._tokens + QPS * (now - self._filled).total_seconds())
        self._filled = now
        count = min(replaced, int(self._tokens // self._requests))
        self._tokens -= count * self._requests
        self._ended[key] -= count
        if count < replaced:
            self._tell(key, about)
        return wanted - replaced + count

    @property
    def wait(self) -> float:
        """The seconds until another pod may be created."""
        return max(self._requests - self._tokens, 0.0) / QPS

    def _tell(self, key: Key, about: str) -> None:
        """Log once per controller and reason that the desired state is not reached."""
        why = self._why.get(key, "")
        reason = why.split(":", 1)[0]
        if (key, reason) in self._told:
            return
        if len(self._told) >= _TOLD:
            self._told.clear()
        self._told.add((key, reason))
        why = why or "they are deleted at once"
        text = "%s: its pods are refused again and again (%s); %.1f a second are made, as fast as its client may ask"
        log.warning(text, about, why, QPS / self._requests)
