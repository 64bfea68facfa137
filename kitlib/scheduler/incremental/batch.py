"""The signatures that a scheduler has met, and the Decision of a pod that no whole cycle was run for.

The answers of all plugins that such a Decision shows are computed when they are read, by a whole cycle on the cluster
as it was.

Source: KEP-5598; framework/runtime/batch.go OpportunisticBatch.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kitlib.api.core import Pod
from kitlib.scheduler.decision import Given
from kitlib.scheduler.framework.filter_outcome import FilterOutcome
from kitlib.scheduler.framework.filtering import find_nodes_that_pass_filters
from kitlib.scheduler.framework.plugin import SKIP, Context, Handle
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.scoring import ScoreOutcome, prioritize_nodes

if TYPE_CHECKING:  # loaded with the second pod of a kind
    from kitlib.scheduler.incremental.resource_answers import ResourceAnswers
    from kitlib.scheduler.incremental.signature_answers import SignatureAnswers, TemplateAnswers

MAX_KINDS = 256
"""Kinds of pods that are known at once; the one that has not been met for the longest time is forgotten."""


_OFF: ContextVar[bool] = ContextVar("batches switched off", default=False)


@contextmanager
def no_batches() -> Iterator[None]:
    """Schedulers that are made inside place pods one by one, whatever they are told."""
    token = _OFF.set(True)
    try:
        yield
    finally:
        _OFF.reset(token)


def are_batches_on() -> bool:
    """Whether schedulers may place like pods in a batch."""
    return not _OFF.get()


class OpportunisticBatch:
    """The kinds of pods that a scheduler has met.

    Args:
        context: the cluster as its plugins see it.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._seen: OrderedDict[Hashable, Pod] = OrderedDict()
        self._similar: OrderedDict[Hashable, TemplateAnswers] = OrderedDict()
        self._kinds: OrderedDict[Hashable, SignatureAnswers] = OrderedDict()
        self._last: SignatureAnswers | None = None
        self._rooms: OrderedDict[Hashable, ResourceAnswers] = OrderedDict()
        self._changes = -1
        self._moment: BatchMoment | None = None

    def like(self, pod: Pod, handle: Handle) -> SignatureAnswers | None:
        """What is known of pods like this one; None for the first one, and where a plugin must see every pod.

        Args:
            pod: without a node.
            handle: its profile.
        """
        if self._changes != self._context.snapshot.changes:  # other nodes: nothing of it holds
            self._changes = self._context.snapshot.changes
            self._similar.clear()
            self._kinds.clear()
            self._rooms.clear()
            self._last = None
        last = self._last
        if last is not None and last.handle is handle and last.is_like(pod):
            return last
        key = _key(pod, handle)
        found = self._kinds.pop(key, None)
        if found is None or not found.is_like(pod):
            similar = self._similar_pods(pod, handle, _key(pod, handle, amounts=False))
            if similar is None or not similar.answerable:
                return None
            found = self._new_kind(pod, similar)
            if found is None:
                return None
        _keep(self._kinds, key, found)
        self._last = found
        return found

    def _similar_pods(self, pod: Pod, handle: Handle, key: Hashable) -> TemplateAnswers | None:
        found = self._similar.pop(key, None)
        if found is None or not found.includes(pod):
            seen = self._seen.get(key)
            if seen is None:
                _keep(self._seen, key, pod)
                return None
            from kitlib.scheduler.incremental.signature_answers import TemplateAnswers, without_amounts

            if without_amounts(seen.spec) != without_amounts(pod.spec):
                _keep(self._seen, key, pod)
                return None
            found = TemplateAnswers(pod, handle, self._context)
        _keep(self._similar, key, found)
        return found

    def _new_kind(self, pod: Pod, similar: TemplateAnswers) -> SignatureAnswers | None:
        """A kind of similar pods; None where a plugin rejects it before it looks at the nodes."""
        from kitlib.scheduler.incremental.signature_answers import SignatureAnswers

        info, states = similar.info_of(pod), dict(similar.states)
        for plugin in similar.room_filters:
            if plugin.takes_part("pre_filter"):
                found = plugin.pre_filter(info, self._context)
                if not found.status.ok or found.nodes is not None:
                    return None
                states[plugin.name] = found.state
        info.states = states
        return SignatureAnswers(similar, info, self._room(similar, info, states), states)

    def _room(self, similar: TemplateAnswers, info: PodInfo, states: dict[str, Any]) -> ResourceAnswers:
        from kitlib.scheduler.incremental.resource_answers import PluginCall, ResourceAnswers

        every = self._context.snapshot.every_row()
        filters = [PluginCall(one, states.get(one.name)) for one in similar.room_filters]
        scores = [
            PluginCall(one, one.pre_score(info, self._context, every) if one.takes_part("pre_score") else None, weight)
            for one, weight in similar.room_scores
        ]
        asked = [one for one in (*filters, *scores) if one.state is not SKIP]
        key = (id(similar.handle), info.signature, repr([one.state for one in asked])) if similar.shared else info.kind
        found = self._rooms.pop(key, None)
        if found is None:
            found = ResourceAnswers(
                info,
                self._context,
                [one for one in filters if one.state is not SKIP],
                [one for one in scores if one.state is not SKIP],
            )
        _keep(self._rooms, key, found)
        return found

    def answers(self, like: SignatureAnswers, pod: Pod) -> LaterAnswers:
        """What all plugins say about a pod now, to be computed later."""
        snapshot, moment = self._context.snapshot, self._moment
        known = (snapshot.changes, snapshot.counts)
        if moment is None or moment.known != known or snapshot.history is not moment.history:
            moment = self._moment = BatchMoment(replace(self._context, snapshot=snapshot.columns_only()), known)
            snapshot.history = moment.history
        return LaterAnswers(moment, len(moment.history), like, pod, self._context)


@dataclass
class BatchMoment:
    """A cluster as it stood, and what came and went since.

    Attributes:
        context: with a copy of the columns.
        known: versions of the nodes and of what is counted.
        history: pods with their rows, 1 = came, -1 = went.
        last: the answers that were computed last, for how much of the history and which kind of pods.
    """

    context: Context
    known: tuple[int, int]
    history: list[tuple[PodInfo, int, int]] = field(default_factory=list)
    last: tuple[tuple[int, Hashable], tuple[FilterOutcome, ScoreOutcome | None]] | None = None

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
        now: the cluster as it stands when it is asked.
    """

    def __init__(self, moment: BatchMoment, length: int, like: SignatureAnswers, pod: Pod, now: Context) -> None:
        self._moment, self._length, self._pod = moment, length, pod
        self._handle, self._info = like.handle, like.info
        self._now, self._version = now, (now.snapshot.changes, now.snapshot.version)

    @cached_property
    def _computed(self) -> tuple[FilterOutcome, ScoreOutcome | None]:
        key = (self._length, self._info.kind)
        if self._moment.last is None or self._moment.last[0] != key:
            self._moment.last = key, self._compute()
        return self._moment.last[1]

    def _compute(self) -> tuple[FilterOutcome, ScoreOutcome | None]:
        table = self._now.snapshot
        unchanged = (table.changes, table.version) == self._version
        context = replace(self._moment.context, snapshot=table) if unchanged else self._moment.after(self._length)
        info = self._info.like(self._pod)
        outcome = find_nodes_that_pass_filters(self._handle, info, context)
        rows = outcome.feasible
        return outcome, prioritize_nodes(self._handle, info, context, rows) if len(rows) else None

    def as_data(self) -> Given:
        """The answers themselves, to be sent."""
        return Given(*self._computed)

    @property
    def filters(self) -> FilterOutcome:
        """Of PreFilter and Filter."""
        return self._computed[0]

    @property
    def scores(self) -> ScoreOutcome | None:
        """Of PreScore, Score and NormalizeScore; None where no node passes."""
        return self._computed[1]


def _keep(known: OrderedDict[Hashable, Any], key: Hashable, value: Any) -> None:
    """Put it last, and forget the first of too many."""
    known[key] = value
    known.move_to_end(key)
    if len(known) > MAX_KINDS:
        known.popitem(last=False)


def _key(pod: Pod, handle: Handle, *, amounts: bool = True) -> Hashable:
    """Few pods that are not alike have the same one.

    Args:
        amounts: whether pods that request other amounts of the same resources have another one.
    """
    meta, spec = pod.metadata, pod.spec
    return (
        id(handle),
        meta.namespace,
        spec.priority,
        tuple(meta.labels.items()),
        tuple(
            [
                (one.image, len(one.ports), *(one.resources.requests.values() if amounts else one.resources.requests))
                for one in spec.containers
            ]
        ),
        len(spec.topology_spread_constraints),
    )
