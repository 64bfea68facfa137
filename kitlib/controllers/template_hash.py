"""Hashes of pod templates, which name ReplicaSets and revisions.

Source: pkg/controller/controller_utils.go ComputeHash; rand.SafeEncodeString.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from kitlib.api.core import PodTemplateSpec
from kitlib.api.serialize import to_dict
from kitlib.apiserver.store.names import SUFFIX_ALPHABET

_OFFSET, _PRIME = 2166136261, 16777619


def template_hash(template: PodTemplateSpec, collision_count: int = 0) -> str:
    """Return a short hash of a pod template; equal templates have equal hashes.

    Kubernetes hashes its in-memory form with FNV-1a and writes the number in an alphabet without vowels. The kit hashes
    the manifest's form in the same way, so the hashes have the same form and other letters.

    Source: ComputeHash, rand.SafeEncodeString.
    """
    return safe_hash(to_dict(template), collision_count)


def safe_hash(data: Any, collision_count: int = 0) -> str:
    """Return the FNV-1a hash of plain data, in the alphabet of generated names."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), default=str)
    return _hashed(text + str(collision_count) if collision_count else text)


@lru_cache(maxsize=1024)
def _hashed(text: str) -> str:
    """Return the FNV-1a hash of a text; cached, because a template is hashed at every change of its Deployment."""
    value = _OFFSET
    for byte in text.encode():
        value = (value ^ byte) * _PRIME % 2**32
    return "".join(SUFFIX_ALPHABET[ord(c) % len(SUFFIX_ALPHABET)] for c in str(value))
