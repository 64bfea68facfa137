"""The size limit of an object: that of an etcd request, for the size in which the API server stores the object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kitlib.api.errors import RequestTooLarge
from kitlib.api.meta import KubeObject
from kitlib.api.serialize import to_dict

MAX_REQUEST = 1_572_864
"""The maximum size of an etcd request in bytes, 1.5 MiB. Source: etcd embed.DefaultMaxRequestBytes."""
_PER_FIELD = 4
"""The estimated size in bytes of a field's number and length in protobuf, which takes two to four."""


def check_size(obj: KubeObject) -> None:
    """Reject an object that exceeds the size of an etcd request.

    Built-in kinds are stored as protobuf, custom resources as JSON.

    Raises:
        RequestTooLarge: before any other check, so that a huge object costs no time.
    """
    if obj.unknown_fields:
        size = _json_size(to_dict(obj))
    elif _json_size(obj) <= MAX_REQUEST // 8:
        return  # most objects; the defaults, which are omitted here, do not multiply the size by eight
    else:
        size = protobuf_size(to_dict(obj))
    if size > MAX_REQUEST:
        raise RequestTooLarge("etcdserver: request is too large")


def _json_size(value: Any) -> int:
    return len(msgspec.json.encode(value, enc_hook=str))


def protobuf_size(value: Any) -> int:
    """Estimate the size of a value in protobuf in bytes, without field names; the few keys of maps are ignored too."""
    size, left = 0, [value]
    while left:
        one = left.pop()
        if isinstance(one, Mapping):
            size += _PER_FIELD * len(one)
            left += one.values()
        elif isinstance(one, str):
            size += len(one.encode(errors="replace"))
        elif isinstance(one, list):
            size += _PER_FIELD * len(one)
            left += one
        else:
            size += 2
    return size
