"""Kubernetes releases as data: feature gates, behaviours, defaults and messages of each minor version.

Code calls `release.enabled("MinDomainsInPodTopologySpread")` and `release.default("memoryThrottlingFactor")`, and
never compares version numbers. The rows are in `kitlib.api.release_table`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache

from kitlib.api.errors import KitError
from kitlib.api.release_table import DEFAULTS, GATES, LOCKED, RELEASES, TEXTS, Setting

__all__ = ["DEFAULTS", "GATES", "LOCKED", "RELEASES", "TEXTS", "Release", "Setting", "is_newer_than_known"]


class Release:
    """A minor release with its feature gates, some of which may be overridden.

    Args:
        name: the minor version, `1.24`; a leading "v" and a patch number are ignored.
        gates: the gates that override the release's defaults, locked ones too; see `of`.

    Raises:
        KitError: the kit does not follow the release.
    """

    __slots__ = ("_enabled", "_overrides", "minor", "name")

    def __init__(self, name: str | Release, gates: Mapping[str, bool] | None = None) -> None:
        self.name: str = ".".join(str(name).removeprefix("v").split(".")[:2])
        if self.name not in RELEASES:
            raise KitError(f"release {str(name)!r}: the kit follows {RELEASES[0]} to {RELEASES[-1]}")
        self.minor = int(self.name.split(".")[1])
        self._overrides = dict(gates or {})
        self._enabled = {**_defaults(self.minor), **self._overrides}

    @classmethod
    def latest(cls) -> Release:
        """Return the newest release that the kit follows."""
        return _latest()

    @classmethod
    def followed(cls) -> Release:
        """Return the release of the enclosing `following` block, else the latest; for code that received no release."""
        return _FOLLOWED.get() or _latest()

    @contextmanager
    def following(self) -> Iterator[Release]:
        """Follow this release inside the block wherever no other one is named."""
        token = _FOLLOWED.set(self)
        try:
            yield self
        finally:
            _FOLLOWED.reset(token)

    @classmethod
    def of(cls, given: Release | str | None, gates: Mapping[str, bool] | None = None) -> Release:
        """Return a release with feature gates; the gates of a given `Release` are kept.

        Args:
            given: a release or its name; None = the followed one.
            gates: the gates to override, as `--feature-gates` sets them.

        Raises:
            KitError: the kit does not follow the release, or the release rejects the gates.
        """
        found = given if isinstance(given, Release) else cls(given) if given is not None else cls.followed()
        refused = found.refused(gates or {})
        if refused:
            raise KitError("; ".join(refused))
        return found.with_gates(gates) if gates else found

    def enabled(self, gate: str) -> bool:
        """Return whether the gate or behaviour is enabled in this release.

        Raises:
            KitError: the name is neither in the table nor overridden.
        """
        try:
            return self._enabled[gate]
        except KeyError:
            raise KitError(f"feature gate {gate!r} is unknown to the kit") from None

    def text(self, name: str) -> str:
        """Return the release's text of a message, a template for `str.format`."""
        # the rows are in the order of releases, so the last one up to this release holds
        return next(text for since, text in reversed(TEXTS[name]) if since <= self.minor)

    def default(self, setting: str) -> Setting:
        """Return the release's default of a setting, under the setting's own name (`memoryThrottlingFactor`).

        Raises:
            KitError: the setting is not in the table: its default never changed, or the kit does not follow it.
        """
        if setting not in DEFAULTS:
            raise KitError(f"setting {setting!r}: valid values: {', '.join(sorted(DEFAULTS))}")
        return next((value for since, value in reversed(DEFAULTS[setting]) if since <= self.minor), None)

    def knows(self, gate: str) -> bool:
        """Return whether the release has the gate; a gate of a later release cannot be enabled."""
        return gate in GATES and GATES[gate][0][0] <= self.minor

    def refused(self, gates: Mapping[str, bool]) -> list[str]:
        """Return Kubernetes' messages for gates that cannot be set to these values; [] = all can.

        A gate that is not in the kit's table is accepted: it may be a gate of Kubernetes without effect in the kit.

        Source: component-base featureGate.unsafeSetFromMap, which ends at the first gate that it does not know.
        """
        said: list[str] = []
        defaults = _defaults(self.minor)
        for gate, value in sorted(gates.items()):
            # In the order of names, like Kubernetes; messages before the first unknown gate are reported too.
            if gate in GATES and not self.knows(gate):
                return [*said, f"unrecognized feature gate: {gate}"]
            if gate in LOCKED and LOCKED[gate] <= self.minor and defaults[gate] != value:
                wanted, locked = str(value).lower(), str(defaults[gate]).lower()
                said.append(f"cannot set feature gate {gate} to {wanted}, feature is locked to {locked}")
        return said

    def with_gates(self, gates: Mapping[str, bool]) -> Release:
        """Return this release with more gates overridden, locked ones too, for comparisons."""
        return Release(self.name, {**self._overrides, **gates})

    def gates(self) -> dict[str, bool]:
        """Return every gate with its value in this release."""
        return dict(sorted(self._enabled.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and (self.name, self._enabled) == (other.name, other._enabled)

    def __hash__(self) -> int:
        return hash((self.name, tuple(sorted(self._overrides.items()))))

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Release({self.name!r}, {self._overrides})" if self._overrides else f"Release({self.name!r})"


def is_newer_than_known(version: str) -> bool:
    """Return whether a reported version (`v1.38.0-rc.1+k3s1`) is of a later release than the newest followed one."""
    found = re.match(r"v?(\d+)\.(\d+)", version)
    return found is not None and (int(found[1]), int(found[2])) > (1, _latest().minor)


def reported_release(versions: Iterable[str]) -> Release | None:
    """Return the newest of the reported versions (`v1.30.4-eks-1`) as a release, the nearest one that is followed.

    Returns:
        None if no version can be read or the newest one is later than all releases that are followed.
    """
    found = [re.match(r"v?1\.(\d+)", version) for version in versions]
    minors = [int(one[1]) for one in found if one is not None]
    newest, known = max(minors, default=-1), [Release(name).minor for name in (RELEASES[0], RELEASES[-1])]
    return Release(f"1.{max(newest, known[0])}") if 0 <= newest <= known[1] else None


def is_older_than_known(version: str) -> bool:
    """Return whether a reported version is of an earlier release than the oldest followed one."""
    found = re.match(r"v?1\.(\d+)", version)
    return found is not None and int(found[1]) < Release(RELEASES[0]).minor


_FOLLOWED: ContextVar[Release | None] = ContextVar("followed release", default=None)


@cache
def _defaults(minor: int) -> dict[str, bool]:
    return {
        gate: next((value for since, value in reversed(steps) if since <= minor), False)
        for gate, steps in GATES.items()
    }


@lru_cache(maxsize=1)
def _latest() -> Release:
    return Release(RELEASES[-1])
