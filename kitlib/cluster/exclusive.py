"""A cluster is used by one thread at a time, so that Python and the clients of its API may work beside each other."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar


class _Locked(Protocol):
    @property
    def lock(self) -> threading.RLock:
        """Held while the cluster is used."""
        ...


C = TypeVar("C", bound=_Locked)
P = ParamSpec("P")
R = TypeVar("R")


def exclusive(method: Callable[Concatenate[C, P], R]) -> Callable[Concatenate[C, P], R]:
    """A method that holds its cluster's lock; what it calls on the same cluster may hold it again."""

    @functools.wraps(method)
    def alone(self: C, /, *arguments: P.args, **options: P.kwargs) -> R:
        with self.lock:
            return method(self, *arguments, **options)

    return alone
