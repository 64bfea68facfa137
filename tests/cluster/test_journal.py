"""What a journal keeps of its entries: equal parts once, and each entry as it was."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kitlib.cluster.journal import Journal

SCALARS = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from([0.0, 1.0, 1.5]) | st.sampled_from("ab")
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)
ENTRIES = st.builds(lambda action, data: {"action": action, "data": data}, st.sampled_from(["a", "b"]), DATA)


def pods(number: int) -> list[dict[str, Any]]:
    """Make entries of equal pods with different names, each of its own parts."""
    spec = json.dumps({"containers": [{"name": "c", "image": "x", "command": ["sleep", "1"]}]})
    made = [{"kind": "Pod", "metadata": {"name": f"p{one}"}, "spec": json.loads(spec)} for one in range(number)]
    return [
        {"action": action, **fields}
        for pod in made
        for action, fields in (("apply", {"objects": [pod]}), ("delete", {"kind": "Pod", **pod["metadata"]}))
    ]


def test_equal_pods_have_one_spec_in_the_journal():
    journal = Journal()
    journal.keep(pods(50))
    assert journal == pods(50)
    applied = [entry["objects"][0] for entry in journal if entry["action"] == "apply"]
    assert len({id(pod["spec"]) for pod in applied}) == 1
    assert len({id(pod["metadata"]) for pod in applied}) == 50


@given(st.lists(ENTRIES, max_size=6))
def test_a_journal_is_written_as_it_was_recorded(entries):
    journal = Journal()
    journal.keep(entries)
    assert json.dumps(journal) == json.dumps(entries)
