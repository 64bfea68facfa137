"""How large an object may be: what etcd takes in one request, at the size in which the API server stores it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kitlib.api.errors import RequestTooLarge
from kitlib.api.meta import KubeObject
from kitlib.api.serialize import to_dict

MAX_REQUEST = 1_572_864
"""Bytes, 1.5 MiB. Source: etcd embed.DefaultMaxRequestBytes."""
_PER_FIELD = 4
"""A field's number and length in protobuf take two to four bytes; JSON writes the name."""


def check_size(obj: KubeObject) -> None:
    """Refuse an object that etcd would not take.

    Built-in kinds are stored as protobuf, custom resources as JSON.

    Raises:
        RequestTooLarge: before anything is checked, so that a huge object takes no time.
    """
    if obj.unknown_fields:
        size = _json_size(to_dict(obj))
    elif _json_size(obj) <= MAX_REQUEST // 8:
        return  # most objects; defaults, which are left out here, do not make eight times as much of it
    else:
        size = protobuf_size(to_dict(obj))
    if size > MAX_REQUEST:
        raise RequestTooLarge("etcdserver: request is too large")


def _json_size(value: Any) -> int:
    return len(msgspec.json.encode(value, enc_hook=str))


def protobuf_size(value: Any) -> int:
    """About how many bytes a value takes in protobuf; names of fields take none, keys of maps are few and count too."""
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
