"""Comparison of a plugin's incremental answers with the plain plugin, while pods come and go."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from kitlib.api.core import Node, Pod
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.plugin import SKIP, Context, Plugin
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.snapshot import Snapshot

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def node(name: str, zone: str = "", **labels: str) -> Node:
    has = {HOSTNAME: name, **labels, **({ZONE: zone} if zone else {})}
    return from_dict({"metadata": {"name": name, "labels": has}}, Node)


def pod(name: str, app: str = "a", **spec: Any) -> Pod:
    meta = {"name": name, "namespace": "default", "uid": name, "labels": {"app": app}}
    return from_dict({"metadata": meta, "spec": {"containers": [{"name": "c"}], **spec}}, Pod)


class Compared:
    """A plugin's plain and incremental answers for one pod."""

    def __init__(self, plugin: Plugin, asked: Pod, nodes: list[Node], release: str = "1.36") -> None:
        self.snapshot = Snapshot(nodes)
        self.context = Context(self.snapshot, Release(release))
        self.plugin, self.asked = plugin, asked
        self.answers: Any = plugin.incremental_answers(PodInfo(asked), self.context)
        self.placed: list[PodInfo] = []

    def place(self, made: Pod, row: int) -> None:
        made.spec.node_name = self.snapshot.names[row]
        info = PodInfo(made)
        self.snapshot.add(info)
        self.placed.append(info)

    def plain(self) -> tuple[list[bool], list[int]]:
        """Return which rows pass, and the normalised scores of those that do, by the plain plugin."""
        info, every = PodInfo(self.asked), self.snapshot.every_row()
        state = self.plugin.pre_filter(info, self.context).state
        passing = np.ones(len(every), np.bool_)
        if state is not SKIP:
            passing = self.plugin.filter(state, info, self.context, every).codes == 0
        rows = every[passing]
        scores = np.zeros(len(rows), np.int64)
        if len(rows):
            found = self.plugin.pre_score(info, self.context, rows)
            if found is not SKIP:
                raw = self.plugin.score(found, info, self.context, rows)
                scores = self.plugin.normalize(found, raw)
        return passing.tolist(), scores.tolist()

    def incremental(self) -> tuple[list[bool], list[int]]:
        """Return the same by the incremental answers."""
        mask = self.answers.restrict(np.ones(len(self.snapshot), np.bool_))
        assert mask is not None
        rows = np.flatnonzero(mask)
        scores = self.answers.normalized(rows) if len(rows) and not self.answers.scores_none() else None
        if self.answers.passes_all():
            assert mask.all()
        return mask.tolist(), np.zeros(len(rows), np.int64).tolist() if scores is None else scores.tolist()

    def hold(self) -> None:
        assert self.incremental() == self.plain()

    def hold_while_pods_come_and_go(self, make: Any, dice: random.Random, steps: int = 12) -> None:
        """Compare after each of some steps, in which pods of a kind come and go on any node."""
        self.hold()
        for step in range(steps):
            if self.placed and dice.random() < 0.3:
                self.snapshot.remove(self.placed.pop(dice.randrange(len(self.placed))))
            else:
                self.place(make(f"{step}", dice), dice.randrange(len(self.snapshot)))
            self.hold()
