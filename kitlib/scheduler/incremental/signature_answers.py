"""The answers for pods of one template and of one signature, and the best node for the next one.

Pods of a template have the same labels, namespace and owners, and the same spec except for the requested amounts:
answers that do not follow from amounts are computed once for all of them. Pods of a signature also request the same
amounts: for the next pod only the answers are computed that placements may have changed since the last one.

Source: KEP-5598; framework/runtime/batch.go OpportunisticBatch.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitlib.api.core import Pod, PodSpec, ResourceRequirements
from kitlib.api.serialize import deepcopy
from kitlib.scheduler.framework.filter_outcome import FilterOutcome
from kitlib.scheduler.framework.incremental_answers import IncrementalAnswers, Mask
from kitlib.scheduler.framework.plugin import SKIP, Affected, Context, Handle, Plugin, Reads, Scores
from kitlib.scheduler.framework.pod_info import PodInfo, resize_conditions
from kitlib.scheduler.framework.scoring import best_rows, random_row
from kitlib.scheduler.framework.status import SUCCESS, Code, Rows, merge_codes
from kitlib.scheduler.incremental.resource_answers import MANY_ROWS, PluginCall, ResourceAnswers

POINTS = ("pre_filter", "filter", "pre_score", "score")
_NOTHING = ResourceRequirements()
_KINDS = count(1)


class RecomputedAnswers:
    """The answers of a plugin without incremental answers: the plugin is asked again for each pod.

    Args:
        plugin: a plugin whose answers any placement may change.
        info: a pod of the kind.
        context: the cluster.
    """

    def __init__(self, plugin: Plugin, info: PodInfo, context: Context) -> None:
        self._plugin, self._info, self._context = plugin, info, context

    def passes_all(self) -> bool:
        return False

    def scores_none(self) -> bool:
        return False

    def restrict(self, passing: Mask) -> Mask | None:
        plugin, state = self._plugin, None
        if plugin.takes_part("pre_filter"):
            found = plugin.pre_filter(self._info, self._context)
            if not found.status.ok or found.nodes is not None:
                return None
            state = found.state
        if state is SKIP:
            return passing
        rows = np.flatnonzero(passing)
        codes = plugin.filter(state, self._info, self._context, rows).codes
        if (codes == Code.Error).any():
            return None
        passing[rows[codes != 0]] = False
        return passing

    def normalized(self, rows: Rows) -> Scores | None:
        plugin, state = self._plugin, None
        if plugin.takes_part("pre_score"):
            state = plugin.pre_score(self._info, self._context, rows)
        if state is SKIP:
            return None
        return plugin.normalize(state, plugin.score(state, self._info, self._context, rows))


@dataclass
class _Ranged:
    """A plugin whose raw scores never change, while their normalisation depends on the feasible rows."""

    asked: PluginCall
    raw: Scores


class TemplateAnswers:
    """The answers that pods of a template share.

    Args:
        pod: a pod of the template.
        handle: the pod's profile.
        context: the cluster.

    Attributes:
        info: the values computed from a copy of the pod.
        changes: the version of the nodes.
        answerable: whether such pods can be scheduled in a batch.
        shared: whether the answers hold for pods that request other amounts; otherwise they hold for one kind.
        fixed, fixed_codes: the rows that pass the filters that no placement affects, and these filters' codes.
        all_run: whether the release asks every filter about every row.
        ordered: whether no such filter rejects a row after a filter that reads amounts.
        constant: the weighted scores that no placement affects.
        ranged: the raw scores that no placement affects, but that are normalised over the feasible rows.
        room_filters, room_scores: the plugins that read amounts, the latter with their weights.
        kept_filters, kept_scores: the answers that any placement may affect, the latter with their weights.
        states: plugin -> the state from PreFilter.
    """

    def __init__(self, pod: Pod, handle: Handle, context: Context) -> None:
        self.handle, self.context = handle, context
        self.info = PodInfo(deepcopy(pod), context.release)
        self.info.compute()
        self._bare = without_amounts(self.info.pod.spec)
        self.changes = context.snapshot.changes
        self.size = len(context.snapshot)
        self.fixed_codes: NDArray[np.uint8] = np.zeros(self.size, np.uint8)
        self.fixed: Mask = self.fixed_codes == 0
        self.ordered = True
        self.all_run = context.release.enabled("KitAllFiltersRun")
        self.constant: Scores = np.zeros(self.size, np.int64)
        self.ranged: list[_Ranged] = []
        self.room_filters: list[Plugin] = []
        self.room_scores: list[tuple[Plugin, int]] = []
        self.kept_filters: dict[str, IncrementalAnswers] = {}
        self.kept_scores: list[tuple[IncrementalAnswers, int]] = []
        self.states: dict[str, Any] = {}
        self.shared = True
        self._kept: dict[str, IncrementalAnswers] = {}
        self.answerable = self.size > 0 and self._prepare()
        if self.answerable:
            # score × size + place is one integer that orders rows by score and then by name, the first name highest
            self.places = self.size - 1 - context.snapshot.name_order()
            self.offset = self.constant * self.size + self.places

    def includes(self, pod: Pod) -> bool:
        """Return whether the pod is of this template (or, if answers are not shared, of this kind)."""
        mine = self.info.pod
        if not self.shared:
            return self.info.holds_for(pod) and mine.metadata.owner_references == pod.metadata.owner_references
        return (
            self._bare == without_amounts(pod.spec)
            and mine.metadata.labels == pod.metadata.labels
            and mine.metadata.deletion_timestamp == pod.metadata.deletion_timestamp
            and mine.status.container_statuses == pod.status.container_statuses
            and mine.metadata.owner_references == pod.metadata.owner_references
            and not resize_conditions(pod)
        )

    def info_of(self, pod: Pod) -> PodInfo:
        """Return the info of a pod of the template; shared parts are copied from the template, not from the pod."""
        mine = self.info.pod
        # the caller may change its own object later, which must not change the pods of the kind
        spec, metadata, made = mine.spec.__copy__(), pod.metadata.__copy__(), pod.__copy__()
        spec.containers = [one.__copy__() for one in mine.spec.containers]
        for container, theirs in zip(spec.containers, pod.spec.containers, strict=True):
            container.resources = deepcopy(theirs.resources)
        metadata.labels = mine.metadata.labels
        made.spec, made.metadata, made.status = spec, metadata, pod.status.__copy__()
        info = self.info.with_other_amounts(made)
        info.kind = next(_KINDS)
        return info

    def _prepare(self) -> bool:
        """Ask every plugin once; return whether all of them allow a batch."""
        affected: dict[str, Affected] = {}
        for plugin in {id(one): one for point in POINTS for one in self.handle.at(point)}.values():
            answer = plugin.affected_by_placement(self.info, self.context)
            if answer is None:
                return False
            affected[plugin.name] = answer
            by_amounts = plugin.reads is Reads.AMOUNTS and answer is Affected.AMOUNTS
            self.shared = self.shared and (by_amounts or plugin.reads is Reads.ALL_BUT_AMOUNTS)
        if resize_conditions(self.info.pod):
            return False
        return self._prepare_filters(affected) and self._prepare_scores(affected)

    def _prepare_filters(self, affected: Mapping[str, Affected]) -> bool:
        for plugin in self.handle.at("pre_filter"):
            found = plugin.pre_filter(self.info, self.context)
            if not found.status.ok or found.nodes is not None:
                return False
            self.states[plugin.name] = found.state
        self.info.states = self.states
        every = self.context.snapshot.every_row()
        for plugin in self.handle.at("filter"):
            state = self.states.get(plugin.name)
            if plugin.name not in self.states and plugin.takes_part("pre_filter"):
                return False
            if affected[plugin.name] is Affected.ALL:
                self.kept_filters[plugin.name] = self._kept_answers(plugin)
            elif affected[plugin.name] is Affected.AMOUNTS:
                self.room_filters.append(plugin)
            elif state is not SKIP:
                codes = plugin.filter(state, self.info, self.context, every).codes
                if (codes == Code.Error).any():
                    return False
                # a row that both reject has the code of the filter that runs first; `rejections` takes this one's
                self.ordered = self.ordered and not (self.room_filters and codes.any())
                self.fixed_codes = merge_codes(self.fixed_codes, codes, all_run=self.all_run)
        self.fixed = self.fixed_codes == 0
        return True

    def _kept_answers(self, plugin: Plugin) -> IncrementalAnswers:
        found = self._kept.get(plugin.name)
        if found is None:
            found = plugin.incremental_answers(self.info, self.context) or RecomputedAnswers(
                plugin, self.info, self.context
            )
            self._kept[plugin.name] = found
        return found

    def _prepare_scores(self, affected: Mapping[str, Affected]) -> bool:
        first = self.handle.at("pre_score")
        every = self.context.snapshot.every_row()
        for plugin in self.handle.at("score"):
            weight = self.handle.weights[plugin.name]
            asks = plugin.takes_part("pre_score")
            if asks and plugin not in first:
                return False
            if affected[plugin.name] is Affected.ALL:
                self.kept_scores.append((self._kept_answers(plugin), weight))
            elif affected[plugin.name] is Affected.AMOUNTS:
                # a normalisation depends on all feasible rows, but only changed rows are evaluated again
                if plugin.takes_part("normalize"):
                    return False
                self.room_scores.append((plugin, weight))
            else:
                state = plugin.pre_score(self.info, self.context, every) if asks else None
                if state is not SKIP:
                    self._add_constant(PluginCall(plugin, state, weight), every)
        return True

    def _add_constant(self, asked: PluginCall, every: Rows) -> None:
        raw = asked.plugin.score(asked.state, self.info, self.context, every)
        possible = raw[self.fixed]
        if not asked.plugin.takes_part("normalize"):
            self.constant += asked.weight * raw
        # equal raw scores are normalised to the same score for any subset of the rows
        elif len(possible) and (possible == possible[0]).all():
            self.constant += asked.weight * int(asked.plugin.normalize(asked.state, possible[:1])[0])
        else:
            self.ranged.append(_Ranged(asked, raw))


class SignatureAnswers:
    """The answers for pods of a signature, and the best node for the next one.

    Args:
        similar: the answers that pods of the template share.
        info: a pod of the signature.
        room: the answers of the plugins that read amounts.
        states: plugin -> the state from PreFilter.
    """

    def __init__(
        self, similar: TemplateAnswers, info: PodInfo, room: ResourceAnswers, states: Mapping[str, Any]
    ) -> None:
        self.similar, self.info, self.room, self.states = similar, info, room, states
        self.handle, self._context = similar.handle, similar.context
        self._look_at_all_rows()

    @property
    def changes(self) -> int:
        """The version of the nodes."""
        return self.similar.changes

    def is_like(self, pod: Pod) -> bool:
        """Return whether a pod has this signature."""
        return self.info.holds_for(pod) and self.info.pod.metadata.owner_references == pod.metadata.owner_references

    def placed(self, pod: Pod, node: str) -> PodInfo:
        """Return the info of a pod on a node; shared parts are those of this kind, not of the caller's object."""
        spec, metadata, made = self.info.pod.spec.__copy__(), pod.metadata.__copy__(), pod.__copy__()
        spec.node_name, metadata.labels = node, self.info.pod.metadata.labels
        made.spec, made.metadata, made.status = spec, metadata, pod.status.__copy__()
        return self.info.like(made)

    def _look_at_all_rows(self) -> None:
        """Compute for each row a number that is highest for the best row: score, then place by name; -1 = rejected."""
        self.room.follow()
        similar, room = self.similar, self.room
        best = room.score * similar.size + similar.offset
        self._order = np.where((room.codes == 0) & similar.fixed, best, -1)
        self._version = self._context.snapshot.version

    def _follow(self) -> None:
        """Update the numbers of the rows whose pods have changed."""
        snapshot, similar, room = self._context.snapshot, self.similar, self.room
        if self._version == snapshot.version:
            return
        rows = snapshot.changed_since(self._version)
        if rows is None:
            self._look_at_all_rows()
            return
        if len(rows) >= MANY_ROWS:  # for fewer rows a loop is faster than NumPy's calls
            room.follow()
            some = np.fromiter(rows, np.int64, len(rows))
            best = room.score[some] * similar.size + similar.offset[some]
            self._order[some] = np.where(room.fits(some) & similar.fixed[some], best, -1)
        else:
            for row in rows:
                code, score = room.of(row)
                passes = not code and similar.fixed.item(row)
                self._order[row] = score * similar.size + similar.offset.item(row) if passes else -1
        self._version = snapshot.version

    def choose(self, dice: random.Random | None) -> int:
        """Return the row of the best node for the next pod; -1 = run a whole cycle (no node fits, or an error).

        Args:
            dice: the random choice between equal nodes; None = the first by name.
        """
        self._follow()
        similar, order = self.similar, self._order
        filters = [filter_ for filter_ in similar.kept_filters.values() if not filter_.passes_all()]
        scores = [score for score in similar.kept_scores if not score[0].scores_none()]
        # no score depends on the set of feasible rows: the highest number is the answer
        if not filters and not scores and not similar.ranged and dice is None:
            best = int(order.argmax())
            return best if order.item(best) >= 0 else -1
        passing: Mask | None = order >= 0
        for kept in filters:
            passing = kept.restrict(passing)  # type: ignore[arg-type]
            if passing is None:
                return -1
        rows = np.flatnonzero(passing)  # type: ignore[arg-type]
        if not len(rows):
            return -1
        total = order[rows]  # a copy: `_order` stays without the scores that change with each placement
        for kept, weight in scores:
            points = kept.normalized(rows)
            if points is not None:
                total += points * (weight * similar.size)
        for ranged in similar.ranged:
            asked = ranged.asked
            total += asked.plugin.normalize(asked.state, ranged.raw[rows]) * (asked.weight * similar.size)
        if dice is None:
            return int(rows[total.argmax()])
        total //= similar.size  # without the places by name
        return random_row(best_rows(rows, total), dice)

    def rejections(self) -> FilterOutcome | None:
        """Return the codes and states of PreFilter and Filter if no row passes, without reasons.

        None = a whole cycle is needed to find the codes.
        """
        similar, room, snapshot = self.similar, self.room, self._context.snapshot
        answers = similar.kept_filters
        # the codes decide where preemption may help, so they must be those of the first filter that rejects
        known = similar.ordered or similar.all_run
        if (
            not known
            or (self._order >= 0).any()
            or not all(incremental_answers.passes_all() for incremental_answers in answers.values())
        ):
            return None
        room.follow()
        # where not all filters run, `ordered` says that the fixed filters come first on the rows that they reject
        codes = merge_codes(similar.fixed_codes, room.codes, all_run=similar.all_run)
        outcome = FilterOutcome(SUCCESS, None, snapshot.every_row(), codes, np.full(similar.size, -1, np.int32))
        outcome.release = self._context.release
        outcome.states = {**self.states, **{name: SKIP for name in answers if name in self.states}}
        return outcome


def without_amounts(spec: PodSpec) -> PodSpec:
    """Return a copy of a spec whose containers request nothing, for comparisons."""
    bare: PodSpec = spec.__copy__()
    bare.containers = [one.__copy__() for one in spec.containers]
    for container in bare.containers:
        container.resources = _NOTHING
    return bare
