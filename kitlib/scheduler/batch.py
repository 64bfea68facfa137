"""Placements of like pods: what does not change from one to the next is not computed again.

Pods with the same spec, labels, namespace and owners get the same answers from plugins that say so
(`Plugin.affected_by_placement`). Of such a pod only that is asked anew which the placements since the last one can have
changed: nothing, the answers for the rows whose pods have changed, or everything of a plugin. The choice is the one
that a whole cycle makes; the answers of all plugins are computed when they are read.

Source: KEP-5598; framework/runtime/batch.go OpportunisticBatch.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np

from kitlib.api.core import Pod
from kitlib.api.serialize import deepcopy
from kitlib.scheduler.framework.filter_outcome import FilterOutcome
from kitlib.scheduler.framework.filtering import find_nodes_that_pass_filters
from kitlib.scheduler.framework.plugin import SKIP, Affected, Context, Handle, Plugin, Scores
from kitlib.scheduler.framework.pod_info import PodInfo, resize_conditions
from kitlib.scheduler.framework.scoring import ScoreOutcome, prioritize_nodes
from kitlib.scheduler.framework.status import Code, Rows

MAX_KINDS = 256
"""Kinds of pods that are known at once; the one that has not been met for the longest time is forgotten."""
POINTS = ("pre_filter", "filter", "pre_score", "score")
_KINDS = count(1)


class OpportunisticBatch:
    """The kinds of pods that a scheduler has met.

    Args:
        context: the cluster as its plugins see it.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._seen: dict[Hashable, Pod] = {}
        self._kinds: dict[Hashable, LikePods] = {}
        self._moment: Moment | None = None

    def like(self, pod: Pod, handle: Handle) -> LikePods | None:
        """What is known of pods like this one; None for the first one, and where a plugin must see every pod.

        Args:
            pod: without a node.
            handle: its profile.
        """
        key = _key(pod, handle)
        found = self._kinds.pop(key, None)
        if found is None or not found.is_like(pod):
            seen = self._seen.pop(key, None)
            if seen is None or seen.spec != pod.spec:
                _keep(self._seen, key, pod)
                return None
            found = None
        if found is None or found.changes != self._context.snapshot.changes:
            found = LikePods(pod, handle, self._context)
        _keep(self._kinds, key, found)
        return found if found.answerable else None

    def answers(self, like: LikePods, pod: Pod) -> LaterAnswers:
        """What all plugins say about a pod now, to be computed later."""
        snapshot, moment = self._context.snapshot, self._moment
        known = (snapshot.changes, snapshot.counts)
        if moment is None or moment.known != known or snapshot.history is not moment.history:
            moment = self._moment = Moment(replace(self._context, snapshot=snapshot.columns_only()), known)
            snapshot.history = moment.history
        return LaterAnswers(moment, len(moment.history), like, pod)


@dataclass
class Moment:
    """A cluster as it stood, and what came and went since.

    Attributes:
        context: with a copy of the columns.
        known: versions of the nodes and of what is counted.
        history: pods with their rows, 1 = came, -1 = went.
    """

    context: Context
    known: tuple[int, int]
    history: list[tuple[PodInfo, int, int]] = field(default_factory=list)

    def after(self, length: int) -> Context:
        """The cluster after so many entries of the history."""
        snapshot = self.context.snapshot.columns_only()
        snapshot.repeat(self.history[:length])
        return replace(self.context, snapshot=snapshot)


class LaterAnswers:
    """What all plugins said about a pod, computed by a whole cycle on the cluster as it stood.

    Args:
        moment, length: which cluster.
        like, pod: of which kind, and who.
    """

    def __init__(self, moment: Moment, length: int, like: LikePods, pod: Pod) -> None:
        self._moment, self._length, self._like, self._pod = moment, length, like, pod

    @cached_property
    def _computed(self) -> tuple[FilterOutcome, ScoreOutcome]:
        context, info = self._moment.after(self._length), self._like.info.like(self._pod)
        outcome = find_nodes_that_pass_filters(self._like.handle, info, context)
        return outcome, prioritize_nodes(self._like.handle, info, context, outcome.feasible)

    @property
    def filters(self) -> FilterOutcome:
        """Of PreFilter and Filter."""
        return self._computed[0]

    @property
    def scores(self) -> ScoreOutcome:
        """Of PreScore, Score and NormalizeScore."""
        return self._computed[1]


@dataclass
class _Asked:
    """A plugin and what it is handed.

    Attributes:
        state: of PreFilter or PreScore.
        weight: of a Score plugin.
        raw: the scores of all rows, of a Score plugin whose normalisation depends on which rows are feasible.
        asks: whether a Filter plugin has a PreFilter.
    """

    plugin: Plugin
    state: Any = None
    weight: int = 0
    raw: Scores | None = None
    asks: bool = False


class LikePods:
    """A kind of pods, and which node is the best for the next one of them.

    Args:
        pod: one of them.
        handle: its profile.
        context: the cluster.

    Attributes:
        info: computed from a copy of the pod; its states are those of PreFilter.
        changes: version of the nodes.
        answerable: whether pods of the kind can be scheduled in a batch at all.
    """

    def __init__(self, pod: Pod, handle: Handle, context: Context) -> None:
        self.handle, self._context = handle, context
        self.info = PodInfo(deepcopy(pod), context.release)
        self.info.kind = next(_KINDS)
        self.info.compute()
        self.changes = context.snapshot.changes
        self._size = len(context.snapshot)
        self._fixed = np.ones(self._size, np.bool_)
        self._constant: Scores = np.zeros(self._size, np.int64)
        self._filters: list[_Asked] = []
        self._scores: list[_Asked] = []
        self._ranged: list[_Asked] = []
        self._all_filters: list[_Asked] = []
        self._all_scores: list[_Asked] = []
        self._known: dict[tuple[int, ...], tuple[bool, int]] = {}
        self.answerable = self._size > 0 and self._prepare()
        if self.answerable:
            self._places = self._size - 1 - context.snapshot.name_order()
            self._ask_about_all_rows()

    def is_like(self, pod: Pod) -> bool:
        """Whether a pod is of this kind."""
        return self.info.holds_for(pod) and self.info.pod.metadata.owner_references == pod.metadata.owner_references

    def placed(self, pod: Pod, node: str) -> PodInfo:
        """The pod on a node. What it shares belongs to this kind alone, not to the caller's object."""
        spec, metadata, made = copy(self.info.pod.spec), copy(pod.metadata), copy(pod)
        spec.node_name, metadata.labels = node, self.info.pod.metadata.labels
        made.spec, made.metadata, made.status = spec, metadata, copy(pod.status)
        return self.info.like(made)

    # What never changes, once.

    def _prepare(self) -> bool:
        """Ask every plugin once; whether all of them let pods be alike."""
        affected: dict[str, Affected] = {}
        for plugin in {id(one): one for point in POINTS for one in self.handle.at(point)}.values():
            answer = plugin.affected_by_placement(self.info, self._context)
            if answer is None:
                return False
            affected[plugin.name] = answer
        if resize_conditions(self.info.pod):
            return False
        return self._prepare_filters(affected) and self._prepare_scores(affected)

    def _prepare_filters(self, affected: Mapping[str, Affected]) -> bool:
        states: dict[str, Any] = {}
        for plugin in self.handle.at("pre_filter"):
            found = plugin.pre_filter(self.info, self._context)
            if not found.status.ok or found.nodes is not None:
                return False
            states[plugin.name] = found.state
        self.info.states = states
        every = self._context.snapshot.every_row()
        for plugin in self.handle.at("filter"):
            state = states.get(plugin.name)
            if plugin.name not in states and plugin.takes_part("pre_filter"):
                return False
            if affected[plugin.name] is Affected.ALL:
                self._all_filters.append(_Asked(plugin, asks=plugin.takes_part("pre_filter")))
            elif state is SKIP:
                continue
            elif affected[plugin.name] is Affected.AMOUNTS:
                self._filters.append(_Asked(plugin, state))
            else:
                codes = plugin.filter(state, self.info, self._context, every).codes
                if (codes == Code.Error).any():
                    return False
                self._fixed &= codes == 0
        return True

    def _prepare_scores(self, affected: Mapping[str, Affected]) -> bool:
        first = self.handle.at("pre_score")
        every = self._context.snapshot.every_row()
        for plugin in self.handle.at("score"):
            weight = self.handle.weights[plugin.name]
            asks = plugin.takes_part("pre_score")
            if asks and plugin not in first:
                return False
            if affected[plugin.name] is Affected.ALL:
                self._all_scores.append(_Asked(plugin, weight=weight))
                continue
            state = plugin.pre_score(self.info, self._context, every) if asks else None
            if state is SKIP:
                continue
            scaled = plugin.takes_part("normalize")
            if affected[plugin.name] is Affected.AMOUNTS:
                if scaled:
                    return False
                self._scores.append(_Asked(plugin, state, weight))
            else:
                self._add_constant(_Asked(plugin, state, weight), scaled, every)
        return True

    def _add_constant(self, asked: _Asked, scaled: bool, every: Rows) -> None:
        raw = asked.plugin.score(asked.state, self.info, self._context, every)
        possible = raw[self._fixed]
        if not scaled:
            self._constant += asked.weight * raw
        elif len(possible) and (possible == possible[0]).all():
            self._constant += asked.weight * int(asked.plugin.normalize(asked.state, possible[:1])[0])
        else:
            asked.raw = raw
            self._ranged.append(asked)

    # What the pods on a row change.

    def _ask_about_all_rows(self) -> None:
        every = self._context.snapshot.every_row()
        self._open, self._total = self._fixed.copy(), self._constant.copy()
        for one in self._filters:
            self._open &= one.plugin.filter(one.state, self.info, self._context, every).codes == 0
        for one in self._scores:
            self._total += one.weight * one.plugin.score(one.state, self.info, self._context, every)
        self._order = np.where(self._open, self._total * self._size + self._places, -1)
        self._version = self._context.snapshot.version

    def _amounts(self, row: int) -> tuple[bool, int]:
        """Whether the pod fits there by what is requested, and the weighted score of that."""
        rows = np.array([row], np.int64)
        fits = all(not one.plugin.filter(one.state, self.info, self._context, rows).codes[0] for one in self._filters)
        scores = [
            one.weight * int(one.plugin.score(one.state, self.info, self._context, rows)[0]) for one in self._scores
        ]
        return fits, sum(scores)

    def _follow(self) -> None:
        """Ask again about the rows whose pods have changed."""
        snapshot = self._context.snapshot
        if self._version == snapshot.version:
            return
        rows = snapshot.changed_since(self._version)
        if rows is None:
            self._ask_about_all_rows()
            return
        for row in rows:
            key = snapshot.amounts_of(row)
            found = self._known.get(key)
            if found is None:
                found = self._known[key] = self._amounts(row)
            fits, score = found
            fits = fits and bool(self._fixed[row])
            self._open[row] = fits
            self._total[row] = total = score + int(self._constant[row])
            self._order[row] = total * self._size + int(self._places[row]) if fits else -1
        self._version = snapshot.version

    # The next pod.

    def choose(self, dice: random.Random | None) -> int:
        """The row of the best node for the next pod; -1 where a whole cycle has to be run (no node fits, or an error).

        Args:
            dice: choose between equal nodes; None takes the first by name.
        """
        self._follow()
        passing = self._passing()
        if passing is None:
            return -1
        rows, filtered = passing
        scores = [(one, state) for one in self._all_scores if (state := self._pre_score(one, rows)) is not SKIP]
        if dice is None and not filtered and not scores and not self._ranged:
            return int(self._order.argmax())  # kept up to date row by row
        total = self._total[rows]
        for one in self._ranged:
            assert one.raw is not None
            total = total + one.weight * one.plugin.normalize(one.state, one.raw[rows])
        for one, state in scores:
            raw = one.plugin.score(state, self.info, self._context, rows)
            total = total + one.weight * one.plugin.normalize(state, raw)
        return self._pick(rows, total, dice)

    def _passing(self) -> tuple[Rows, bool] | None:
        """The feasible rows, and whether more than amounts decided; None where there are none, or a plugin fails."""
        rows, filtered = np.flatnonzero(self._open), False
        if not len(rows):
            return None
        for one in self._all_filters:
            state = None
            if one.asks:
                found = one.plugin.pre_filter(self.info, self._context)
                if not found.status.ok or found.nodes is not None:
                    return None
                state = found.state
            if state is SKIP:
                continue
            codes = one.plugin.filter(state, self.info, self._context, rows).codes
            if codes.any():
                if (codes == Code.Error).any():
                    return None
                rows, filtered = rows[codes == 0], True
        return (rows, filtered) if len(rows) else None

    def _pre_score(self, one: _Asked, rows: Rows) -> Any:
        return one.plugin.pre_score(self.info, self._context, rows)

    def _pick(self, rows: Rows, total: Scores, dice: random.Random | None) -> int:
        if dice is None:
            return int(rows[(total * self._size + self._places[rows]).argmax()])
        best = rows[total == total.max()]
        return int(best[dice.randrange(len(best))])


def _keep(known: dict[Hashable, Any], key: Hashable, value: Any) -> None:
    """Put it last, and forget the first of too many."""
    known[key] = value
    if len(known) > MAX_KINDS:
        del known[next(iter(known))]


def _key(pod: Pod, handle: Handle) -> Hashable:
    """Few pods that are not alike have the same one."""
    meta, spec = pod.metadata, pod.spec
    return (
        id(handle),
        meta.namespace,
        spec.priority,
        tuple(meta.labels.items()),
        tuple((one.image, len(one.ports), *one.resources.requests.values()) for one in spec.containers),
        len(spec.topology_spread_constraints),
    )
