"""The presentation of the kit's values: in a terminal (rich), in a notebook (HTML), and as data frames (pandas).

Imported by charts, widgets, lab and commands.
Face: one function per view: `tree_view`, `describe`, `top`.
"""

from kitlib.views.cgroup_tree import TreeView, tree_view
from kitlib.views.frames import (
    cgroup_frame,
    cgroup_rows,
    claims_frame,
    events_frame,
    events_rows,
    nodes_frame,
    objects_frame,
    oom_frame,
    oom_order_rows,
    pods_frame,
    pods_rows,
    processes_frame,
    processes_rows,
)
from kitlib.views.notebook import register

__all__ = [
    "TreeView",
    "cgroup_frame",
    "cgroup_rows",
    "claims_frame",
    "events_frame",
    "events_rows",
    "nodes_frame",
    "objects_frame",
    "oom_frame",
    "oom_order_rows",
    "pods_frame",
    "pods_rows",
    "processes_frame",
    "processes_rows",
    "register",
    "tree_view",
]
