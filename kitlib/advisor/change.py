"""A change that may help a pod: the text, the party that makes it, and how it is tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kitlib.advisor.findings import PLATFORM, TEAM, YOU
from kitlib.api.core import Node, Pod

OWNERS = (YOU, TEAM, PLATFORM)
"""The parties that can make a change, the nearest first."""


@dataclass(frozen=True)
class Change:
    """A change that is tried.

    Attributes:
        text: the action, in the imperative.
        kind: `request`, `toleration`, `affinity`, `spread`, `port`, `priority`, `pod`, `resize`, `volume`, `cordon`,
            `label` or `node`.
        owner: one of `OWNERS`.
        pod: function that changes the pod in place.
        nodes: function that returns other nodes; None = the cluster's own.
        others: other pods that change: (current pod, changed pod; None = deleted).
        objects: storage objects that are added.
        about: the subject of changes that differ only in their extent; only the smallest one that helps is an answer.
        preempts: whether a node on which preemption makes room is an answer.
    """

    text: str
    kind: str
    owner: str = YOU
    pod: Callable[[Pod], None] | None = None
    nodes: Callable[[list[Node]], list[Node]] | None = None
    others: Sequence[tuple[Pod, Pod | None]] = ()
    objects: Sequence[object] = ()
    about: str = ""
    preempts: bool = False
