"""The journal: what a user did to a cluster, step by step, so that it can be done again on a fresh one.

Only actions stand in it, never results. A simulated cluster is deterministic, so the same actions on a cluster that
began in the same way lead to the same state: that is how a lab is graded, and how a lesson is shown again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from kitlib.api.errors import KitError
from kitlib.kubelet.cm.cgroup_tree import CgroupTree

Entry = dict[str, Any]
ACTIONS: dict[str, tuple[str, ...]] = {
    "apply": ("objects",),
    "create": ("objects",),
    "delete": ("kind", "name", "namespace"),
    "patch": ("kind", "name", "namespace", "patch"),
    "resize": ("name", "namespace", "containers"),
    "evict": ("name", "namespace"),
    "advance": ("seconds",),
    "write": ("node", "path", "file", "value"),
    "signal": ("node", "pod", "container", "signal"),
}
"""Action -> the fields that its entry must have; others may stand there too."""


def owner(tree: CgroupTree, path: str) -> dict[str, str]:
    """The pod, container and kind of a cgroup, for an entry: UIDs are others where the journal is replayed."""
    cgroup = tree.get(path)
    return {"pod": cgroup.pod, "container": cgroup.container, "kind": cgroup.kind} if cgroup and cgroup.pod else {}


def place_of(entry: Entry, tree: CgroupTree) -> str:
    """Where the cgroup that an entry was written in stands in another cluster's tree."""
    named = (entry["pod"], entry.get("container"), entry.get("kind"))
    return next((c.path for c in tree.values() if (c.pod, c.container, c.kind) == named), str(entry["path"]))


class Journal(list[Entry]):
    """Actions in order; an ordinary list of ordinary data."""

    def record(self, action: str, **fields: Any) -> None:
        """Add an action."""
        self.append({"action": action, **fields})

    def to_json(self) -> str:
        """One JSON document."""
        return json.dumps(self, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Journal:
        """Read what `to_json` wrote.

        Raises:
            KitError: for anything else.
        """
        try:
            return cls.checked(json.loads(text))
        except ValueError as error:
            raise KitError(f"a journal is a JSON list of actions: {error}") from error

    @classmethod
    def checked(cls, entries: Iterable[Any]) -> Journal:
        """The entries, if each is an action with all its fields.

        Raises:
            KitError: naming the first entry that is none.
        """
        made = cls()
        if not isinstance(entries, list | tuple):
            raise KitError("a journal is a list of actions")
        for number, entry in enumerate(entries, start=1):
            action = entry.get("action") if isinstance(entry, dict) else None
            if action not in ACTIONS:
                raise KitError(f"journal entry {number}: {action!r} is none of {', '.join(ACTIONS)}")
            missing = [field for field in ACTIONS[action] if field not in entry]
            if missing:
                raise KitError(f"journal entry {number}: {action} without {', '.join(missing)}")
            made.append(dict(entry))
        return made
