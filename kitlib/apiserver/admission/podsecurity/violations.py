"""The violations that Pod Security checks return, and the parts of their messages.

Source: pod-security-admission policy (checks.go, helpers.go, visitor.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kitlib.api.container import Container
from kitlib.api.core import PodSpec
from kitlib.api.meta import ObjectMeta


class Violation(NamedTuple):
    """The reason a pod is rejected: `hostPort`, and `container "web" uses hostPort 80`."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


Check = Callable[[ObjectMeta, PodSpec], Violation | None]


def containers(spec: PodSpec) -> Iterator[Container]:
    """Yield every container of a pod, in the order of upstream's messages. Source: visitContainers."""
    yield from spec.init_containers
    yield from spec.containers
    yield from spec.ephemeral_containers


def names(spec: PodSpec, bad: Callable[[Container], object]) -> list[str]:
    """Return the names of the containers for which the test is true."""
    return [container.name for container in containers(spec) if bad(container)]


def plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def uses(count: int) -> str:
    return "uses" if count == 1 else "use"


def quoted(values: Iterable[str]) -> str:
    """Return the quoted values, separated by commas. Source: joinQuote."""
    return ", ".join(f'"{value}"' for value in values)


def named(bad: list[str]) -> str:
    """Return `container "a"` or `containers "a", "b"`."""
    return f"{plural('container', len(bad))} {quoted(bad)}"


def setters(pod: bool, bad: list[str]) -> str:
    """Return the places of a forbidden value: `pod`, `container "a"`, or both."""
    return " and ".join([*(["pod"] if pod else []), *([named(bad)] if bad else [])])


def in_user_namespace(spec: PodSpec) -> bool:
    """Return whether the pod runs in a user namespace. Source: relaxPolicyForUserNamespacePod."""
    return spec.host_users is False


def on_windows(spec: PodSpec) -> bool:
    return spec.os is not None and spec.os.name == "windows"
