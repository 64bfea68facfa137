"""Mutual exclusion: one thread at a time uses a cluster, so that Python code and API clients can work concurrently."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar


class _Locked(Protocol):
    @property
    def lock(self) -> threading.RLock:
        """The lock to hold while the cluster is used."""
        ...


C = TypeVar("C", bound=_Locked)
P = ParamSpec("P")
R = TypeVar("R")


def exclusive(method: Callable[Concatenate[C, P], R]) -> Callable[Concatenate[C, P], R]:
    """Decorate a method to hold its cluster's reentrant lock."""

    @functools.wraps(method)
    def alone(self: C, /, *arguments: P.args, **options: P.kwargs) -> R:
        with self.lock:
            return method(self, *arguments, **options)

    return alone
