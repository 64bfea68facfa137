"""Rows of a real API server's Tables: pods in every state, and a few objects of other kinds."""

from __future__ import annotations

from typing import Any

from kitlib.apiserver.http.printers import cells
from kitlib.apiserver.http.printers.text import parse_time
from kitlib.apiserver.http.resources import ResourceTable

FILE = "live_tables"
RELEASE = "1.36"
INPUTS = frozenset({"resource", "object", "now"})


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Return the columns and the cells of the object's row."""
    plural, _, group = case["resource"].partition(".")
    served = next(r for r in ResourceTable().resources if (r.plural, r.group) == (plural, group))
    now = parse_time(case["now"])
    assert now is not None
    return {"columns": [column.name for column in served.columns], "cells": cells(served, case["object"], now)}
