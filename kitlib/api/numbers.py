"""Integers of the API's widths: a number out of range cannot be decoded.

Source: k8s.io/api, the Go types of the fields.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

MAX_INT32 = 2**31 - 1
MAX_INT64 = 2**63 - 1

Int32 = Annotated[int, msgspec.Meta(ge=-MAX_INT32 - 1, le=MAX_INT32)]
Int64 = Annotated[int, msgspec.Meta(ge=-MAX_INT64 - 1, le=MAX_INT64)]
IntOrString = Int32 | str


def scaled_value(value: IntOrString, total: int, *, round_up: bool) -> int:
    """Return a number, or a percentage of a total. Source: intstr.GetScaledValueFromIntOrPercent."""
    if isinstance(value, int):
        return value
    share = int(value.removesuffix("%")) * total
    return -(-share // 100) if round_up else share // 100
