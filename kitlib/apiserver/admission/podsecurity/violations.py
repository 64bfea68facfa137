"""What a check of Pod Security found, and the small words that its texts are made of.

Source: pod-security-admission policy (checks.go, helpers.go, visitor.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kitlib.api.container import Container
from kitlib.api.core import PodSpec
from kitlib.api.meta import ObjectMeta


class Violation(NamedTuple):
    """Why a pod is not allowed: `hostPort`, and `container "web" uses hostPort 80`."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


Check = Callable[[ObjectMeta, PodSpec], Violation | None]


def containers(spec: PodSpec) -> Iterator[Container]:
    """Every container of a pod, in the order of the texts. Source: visitContainers."""
    yield from spec.init_containers
    yield from spec.containers
    yield from spec.ephemeral_containers


def names(spec: PodSpec, bad: Callable[[Container], object]) -> list[str]:
    """The containers that a test finds bad."""
    return [one.name for one in containers(spec) if bad(one)]


def plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def uses(count: int) -> str:
    return "uses" if count == 1 else "use"


def quoted(values: Iterable[str]) -> str:
    """Source: joinQuote."""
    return ", ".join(f'"{value}"' for value in values)


def named(bad: list[str]) -> str:
    """`container "a"`, `containers "a", "b"`."""
    return f"{plural('container', len(bad))} {quoted(bad)}"


def setters(pod: bool, bad: list[str]) -> str:
    """Who sets a bad value: `pod`, `container "a"`, or both."""
    return " and ".join([*(["pod"] if pod else []), *([named(bad)] if bad else [])])


def in_user_namespace(spec: PodSpec) -> bool:
    """Source: relaxPolicyForUserNamespacePod."""
    return spec.host_users is False


def on_windows(spec: PodSpec) -> bool:
    return spec.os is not None and spec.os.name == "windows"
