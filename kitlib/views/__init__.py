"""The presentation of the kit's values: in a terminal (rich), in a notebook (HTML), and as data frames (pandas).

Imported by charts, widgets, lab and commands.
Face: one function per view: `tree_view`, `describe`, `top`.
"""

from kitlib.views.cgroup_tree import TreeView, tree_view
from kitlib.views.frames import (
    cgroup_frame,
    claims_frame,
    events_frame,
    nodes_frame,
    objects_frame,
    oom_frame,
    pods_frame,
    processes_frame,
)
from kitlib.views.notebook import register

__all__ = [
    "TreeView",
    "cgroup_frame",
    "claims_frame",
    "events_frame",
    "nodes_frame",
    "objects_frame",
    "oom_frame",
    "pods_frame",
    "processes_frame",
    "register",
    "tree_view",
]
