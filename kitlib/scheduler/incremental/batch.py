"""The signatures of pods that a scheduler knows, and the Decision about a pod for which no whole cycle was run.

The plugins' answers in such a Decision are computed when they are read, by a whole cycle on the cluster as it was at
the time of the decision.

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
"""The number of kinds of pods that are kept; beyond that the least recently used one is discarded."""


_OFF: ContextVar[bool] = ContextVar("batches switched off", default=False)


@contextmanager
def no_batches() -> Iterator[None]:
    """Create schedulers without batches inside the context, whatever their arguments."""
    token = _OFF.set(True)
    try:
        yield
    finally:
        _OFF.reset(token)


def are_batches_on() -> bool:
    """Return whether schedulers may place equal pods in a batch."""
    return not _OFF.get()


class OpportunisticBatch:
    """The kinds of pods that a scheduler has placed.

    A kind's first pod is only remembered; answers are prepared for the second one.

    Args:
        context: the cluster as the plugins see it.
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
        """Return the answers for pods equal to this one; None for the first one, or if a plugin must see every pod.

        Args:
            pod: the pod, which has no node.
            handle: the pod's profile.
        """
        if self._changes != self._context.snapshot.changes:  # nodes have changed: no answer is valid
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
        # the key has only some of the pod's fields: equality is checked on the whole pod
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

            # different pods with the same key: the newer one replaces the older one
            if without_amounts(seen.spec) != without_amounts(pod.spec):
                _keep(self._seen, key, pod)
                return None
            found = TemplateAnswers(pod, handle, self._context)
        _keep(self._similar, key, found)
        return found

    def _new_kind(self, pod: Pod, similar: TemplateAnswers) -> SignatureAnswers | None:
        """Return the answers for a new kind of similar pods; None if PreFilter rejects it or restricts the nodes."""
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
        filters = [PluginCall(filter_, states.get(filter_.name)) for filter_ in similar.room_filters]
        scores = [
            PluginCall(
                plugin, plugin.pre_score(info, self._context, every) if plugin.takes_part("pre_score") else None, weight
            )
            for plugin, weight in similar.room_scores
        ]
        asked = [plugin_call for plugin_call in (*filters, *scores) if plugin_call.state is not SKIP]
        # plugins that read amounts give equal answers to all pods with these amounts, whatever their template
        key = (
            (id(similar.handle), info.signature, repr([plugin_call.state for plugin_call in asked]))
            if similar.shared
            else info.kind
        )
        found = self._rooms.pop(key, None)
        if found is None:
            found = ResourceAnswers(
                info,
                self._context,
                [filter_ for filter_ in filters if filter_.state is not SKIP],
                [score for score in scores if score.state is not SKIP],
            )
        _keep(self._rooms, key, found)
        return found

    def answers(self, like: SignatureAnswers, pod: Pod) -> LaterAnswers:
        """Return the answers of all plugins about a pod at this time, which are computed when they are read."""
        snapshot, moment = self._context.snapshot, self._moment
        known = (snapshot.changes, snapshot.counts)
        # Decisions share one copy of the columns, and each knows how much of the history precedes it. The snapshot ends
        # a history that is too long or that a change of nodes interrupts; then a new copy is needed.
        if moment is None or moment.known != known or snapshot.history is not moment.history:
            moment = self._moment = BatchMoment(replace(self._context, snapshot=snapshot.columns_only()), known)
            snapshot.history = moment.history
        return LaterAnswers(moment, len(moment.history), like, pod, self._context)


@dataclass
class BatchMoment:
    """A copy of a cluster, and the pods that came and went since.

    Attributes:
        context: the cluster, with a copy of the columns.
        known: the versions of the nodes and of the set of counts.
        history: (pod, row, 1 = came or -1 = went), in order.
        last: ((length of the history, kind of pods), answers) of the last computation.
    """

    context: Context
    known: tuple[int, int]
    history: list[tuple[PodInfo, int, int]] = field(default_factory=list)
    last: tuple[tuple[int, Hashable], tuple[FilterOutcome, ScoreOutcome | None]] | None = None

    def after(self, length: int) -> Context:
        """Return the cluster after the first `length` entries of the history."""
        snapshot = self.context.snapshot.columns_only()
        snapshot.repeat(self.history[:length])
        return replace(self.context, snapshot=snapshot)


class LaterAnswers:
    """The answers of all plugins about a pod, computed on first access by a whole cycle on the cluster as it was.

    Args:
        moment: the copy of the cluster.
        length: the length of the history at the time of the decision.
        like: the answers for the pod's kind.
        pod: the pod.
        now: the current cluster, which is used if nothing has changed since.
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
        # right after the decision the current cluster is the right one, and no copy is needed
        unchanged = (table.changes, table.version) == self._version
        context = replace(self._moment.context, snapshot=table) if unchanged else self._moment.after(self._length)
        info = self._info.like(self._pod)
        outcome = find_nodes_that_pass_filters(self._handle, info, context)
        rows = outcome.feasible
        return outcome, prioritize_nodes(self._handle, info, context, rows) if len(rows) else None

    def as_data(self) -> Given:
        """Return the computed answers as plain data."""
        return Given(*self._computed)

    @property
    def filters(self) -> FilterOutcome:
        """The results of PreFilter and Filter."""
        return self._computed[0]

    @property
    def scores(self) -> ScoreOutcome | None:
        """The results of PreScore, Score and NormalizeScore; None if no node passes."""
        return self._computed[1]


def _keep(known: OrderedDict[Hashable, Any], key: Hashable, value: Any) -> None:
    """Store a value as the most recently used one, and discard the least recently used one beyond MAX_KINDS."""
    known[key] = value
    known.move_to_end(key)
    if len(known) > MAX_KINDS:
        known.popitem(last=False)


def _key(pod: Pod, handle: Handle, *, amounts: bool = True) -> Hashable:
    """Return a key that is cheap to compute and differs for most pods that are not equal.

    Args:
        pod: the pod.
        handle: the pod's profile.
        amounts: whether the key includes the requested amounts, not only the names of the resources.
    """
    meta, spec = pod.metadata, pod.spec
    return (
        id(handle),
        meta.namespace,
        spec.priority,
        tuple(meta.labels.items()),
        tuple(
            [
                (
                    container.image,
                    len(container.ports),
                    *(container.resources.requests.values() if amounts else container.resources.requests),
                )
                for container in spec.containers
            ]
        ),
        len(spec.topology_spread_constraints),
    )
