"""A public class has a unique name, so that a search finds one class."""

from __future__ import annotations

import ast
from collections import Counter

from tests.rooms import KITLIB

SHARED = {
    "NodeAffinity": "a field of the API, core/v1 NodeAffinity, and the scheduler's plugin nodeaffinity.NodeAffinity",
}
"""Names that Kubernetes itself gives to two types, with the two."""


def test_no_further_public_classes_share_a_name() -> None:
    count: Counter[str] = Counter()
    for path in sorted(KITLIB.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                count[node.name] += 1
    shared = {name for name, times in count.items() if times > 1}
    assert shared - set(SHARED) == set(), "give the new class a name of its own"
    assert set(SHARED) - shared == set(), "these are no longer shared: take them out of SHARED"
