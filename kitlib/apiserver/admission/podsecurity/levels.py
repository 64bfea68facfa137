"""The policy in a namespace's labels: a level and a version for each of enforce, audit and warn.

Source: pod-security-admission api PolicyToEvaluate, ParseLevel, ParseVersion, CompareLevels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from kitlib.api.field_errors import Errors, invalid

PRIVILEGED, RESTRICTED = "privileged", "restricted"
LEVELS = (PRIVILEGED, "baseline", RESTRICTED)
"""The levels, from the least to the most strict."""
PREFIX = "pod-security.kubernetes.io/"
LATEST = "latest"
_VERSION = re.compile(r"v1\.(0|[1-9][0-9]*)", re.ASCII)
_WRONG_LEVEL = f"must be one of {', '.join(LEVELS)}"
_WRONG_VERSION = 'must be "latest" or "v1.x"'


class LevelVersion(NamedTuple):
    """A level as defined in a release, e.g. `restricted:v1.25`."""

    level: str = PRIVILEGED
    version: str = LATEST

    def __str__(self) -> str:
        return f"{self.level}:{self.version}"

    def minor(self, newest: int) -> int:
        """Return the minor release of the checks, at most the API server's own."""
        return newest if self.version == LATEST else min(int(self.version.removeprefix("v1.")), newest)


class Policy(NamedTuple):
    enforce: LevelVersion = LevelVersion()
    audit: LevelVersion = LevelVersion()
    warn: LevelVersion = LevelVersion()


def stricter(level: str, than: str) -> bool:
    """Return whether one level is stricter than the other. Source: CompareLevels."""
    return LEVELS.index(level) > LEVELS.index(than)


def policy_to_evaluate(labels: Mapping[str, str]) -> tuple[Policy, Errors]:
    """Return the policy of a namespace, and the errors of its labels.

    An invalid level is `restricted` for enforce and `privileged` for audit and warn; an invalid version is the latest.
    Without a warn label, a stricter enforced level is used for warnings too.
    """
    errors: Errors = []
    modes: dict[str, LevelVersion] = {}
    wrong_levels: set[str] = set()
    for mode in Policy._fields:
        level = labels.get(f"{PREFIX}{mode}", PRIVILEGED)
        if level not in LEVELS:
            errors.append(invalid(f"metadata.labels[{PREFIX}{mode}]", level, _WRONG_LEVEL))
            level = RESTRICTED if mode == "enforce" else PRIVILEGED
            wrong_levels.add(mode)
        version = labels.get(f"{PREFIX}{mode}-version", LATEST)
        if version != LATEST and not _VERSION.fullmatch(version):
            errors.append(invalid(f"metadata.labels[{PREFIX}{mode}-version]", version, _WRONG_VERSION))
            version = LATEST
        modes[mode] = LevelVersion(level, version)
    enforce, warn = modes["enforce"], modes["warn"]
    told = f"{PREFIX}enforce" in labels and "enforce" not in wrong_levels and f"{PREFIX}warn" not in labels
    if told and stricter(enforce.level, warn.level):
        own_version = f"{PREFIX}warn-version" in labels
        modes["warn"] = LevelVersion(enforce.level, warn.version if own_version else enforce.version)
    return Policy(**modes), errors
