"""The scheduler's decision about one pod in one cycle: verdicts, scores, the node, the message and the victims.

It holds the columns that the cycle computed anyway; data frames and sentences are made from them on request.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.scheduler.framework.binding import BindingProgress
from kitlib.scheduler.framework.filter_outcome import FilterOutcome
from kitlib.scheduler.framework.fit_error import count_reasons, fit_error
from kitlib.scheduler.framework.post_filter import PostFilterResult
from kitlib.scheduler.framework.scoring import ScoreOutcome
from kitlib.scheduler.framework.status import Code, Status

MAX_MESSAGE = 1024
"""The maximum length of an event's message in characters. Source: schedule_one.go truncateMessage."""


class PluginResults(Protocol):
    """The answers of the Filter and Score plugins for all nodes; they may be computed on first access.

    Attributes:
        filters: the results of PreFilter and Filter; None if a gate stopped the pod.
        scores: the scores of the feasible nodes; None if no node is feasible.
    """

    @property
    def filters(self) -> FilterOutcome | None: ...

    @property
    def scores(self) -> ScoreOutcome | None: ...


@dataclass
class Given:
    """Answers that have been computed."""

    filters: FilterOutcome | None = None
    scores: ScoreOutcome | None = None


@dataclass
class Decision:
    """The result of one scheduling cycle.

    Attributes:
        pod: the pod.
        nodes: the names of all nodes, in the order of the rows.
        release: the release whose behaviour the cycle followed.
        gate: the refusal of a PreEnqueue plugin; None = none refused the pod.
        answers: the answers of the Filter and Score plugins.
        post_filter: PostFilter's answer; None = no plugin was asked.
        suggested_host: the name of the chosen node; "" = none.
        binding: the progress of the binding cycle; None = no node was chosen.
        evaluated_nodes: the number of nodes that were evaluated; the next search begins after them.
    """

    pod: Pod
    nodes: list[str]
    release: Release
    gate: Status | None = None
    answers: PluginResults = field(default_factory=Given)
    post_filter: PostFilterResult | None = None
    suggested_host: str = ""
    binding: BindingProgress | None = None
    evaluated_nodes: int = 0

    @classmethod
    def of_error(cls, pod: Pod, nodes: list[str], release: Release, text: str) -> Decision:
        """Return the decision of a cycle that ended in an error before any node was evaluated."""
        nothing = np.zeros(0, np.intp)
        status = Status(Code.Error, (text,), "")
        codes, rejected = np.zeros(len(nodes), np.uint8), np.full(len(nodes), -1, np.int32)
        outcome = FilterOutcome(status, None, nothing, codes, rejected, release=release)
        return cls(pod, nodes, release, answers=Given(outcome))

    @property
    def filters(self) -> FilterOutcome | None:
        """The results of PreFilter and Filter; None if a gate stopped the pod."""
        return self.answers.filters

    @property
    def scores(self) -> ScoreOutcome | None:
        """The scores of the feasible nodes; None if no node is feasible."""
        return self.answers.scores

    @property
    def feasible(self) -> list[str]:
        """The names of the nodes that pass every filter."""
        return [self.nodes[row] for row in self.filters.feasible] if self.filters else []

    @property
    def best(self) -> list[str]:
        """The names of the nodes with the highest total; kube-scheduler takes one of them at random."""
        if self.scores is None:
            return self.feasible
        return [self.nodes[row] for row in self.scores.best]

    @property
    def victims(self) -> list[Pod]:
        """The pods that preemption would remove."""
        return [info.pod for info in self.post_filter.victims] if self.post_filter else []

    @property
    def nominated(self) -> str:
        """The node that preemption nominated the pod to; "" = none."""
        return self.post_filter.nominated if self.post_filter else ""

    def statuses(self, node: str) -> list[Status]:
        """Return the rejections of a node; [] = it passes every filter."""
        if self.filters is None:
            return [self.gate] if self.gate else []
        if not self.filters.status.ok:
            return [self.filters.status]
        return self.statuses_at(self.nodes.index(node))

    def statuses_at(self, row: int) -> list[Status]:
        """Return the rejections of a row; valid only for a cycle that PreFilter has not ended."""
        assert self.filters is not None
        if self.filters.prefilter_node_names is not None and row not in self.filters.rows:
            assert self.filters.absent is not None
            return [self.filters.absent]
        return self.filters.statuses(row)

    def reasons_of(self, node: str) -> list[str]:
        """Return all reasons for which a node was rejected."""
        return [reason for status in self.statuses(node) for reason in status.reasons]

    def reasons_by_node(self) -> dict[str, list[str]]:
        """Return node name -> all reasons for which the node was rejected; [] = it passes every filter."""
        if self.filters is None or not self.filters.status.ok:
            return {name: self.reasons_of(name) for name in self.nodes}
        return {
            name: [reason for status in self.statuses_at(row) for reason in status.reasons]
            for row, name in enumerate(self.nodes)
        }

    @property
    def failed(self) -> bool:
        """Whether the cycle ended in an error: no event can help, the pod is tried again after its back-off."""
        return self.filters is not None and self.filters.status.code is Code.Error

    @property
    def filter_message(self) -> str:
        """The first part of the message, which PreFilter and Filter determine."""
        if self.filters is None or len(self.filters.feasible):
            return ""
        if self.failed or not self.nodes:
            return self.filters.status.message
        if not self.filters.status.ok:
            return fit_error(len(self.nodes), {}, self.release, self.filters.status.message)
        counted = count_reasons(self.filters, len(self.nodes), self.release)
        return fit_error(len(self.nodes), counted, self.release)

    @property
    def post_filter_message(self) -> str:
        """The second part of the message, which PostFilter determines."""
        if self.post_filter is None:
            return ""
        return self.post_filter.message

    @property
    def message(self) -> str:
        """The message of the event FailedScheduling; "" = the pod fits."""
        if self.gate is not None:
            return self.gate.message
        if self.binding is not None and not self.binding.status.ok:
            return self.binding.status.message
        first = self.filter_message
        if not first:
            return ""
        second = self.post_filter_message
        failed = self.post_filter is not None and self.post_filter.code is Code.Error
        if failed and not self.release.enabled("KitPostFilterErrorShown"):
            second = ""
        text = self.release.text("fit_error").format(filters=first, post=second) if second else first
        return text[:MAX_MESSAGE]

    @property
    def unschedulable_plugins(self) -> list[str]:
        """The plugins that rejected a node or the pod, sorted; their events may make the pod schedulable."""
        if self.filters is None:
            return [self.gate.plugin] if self.gate else []
        if self.failed:
            return []
        if not self.filters.status.ok:
            return [self.filters.status.plugin] if self.filters.status.plugin else []
        found = {plugin for plugin, _, _ in self.filters.rejections() if plugin}
        restricted = self.filters.prefilter_node_names
        # a node that PreFilter left out was rejected by the plugins that restricted the candidates
        left_out = restricted is not None and len(self.filters.rows) < len(self.nodes)
        if restricted is not None and left_out and self.release.enabled("KitNarrowingPluginsReject"):
            found |= set(restricted[1])
        return sorted(found)

    def filter_rows(self) -> list[dict[str, str]]:
        """Return a row with node, plugin, code and reasons for each verdict; plugins that were not asked have none."""
        if self.filters is None:
            return []
        made = []
        for name in self.filters.plugins:
            rows, verdicts = self.filters.verdicts[name]
            for place, row in enumerate(rows):
                status = verdicts.status(place, name)
                made.append(
                    {"node": self.nodes[row], "plugin": name, "code": status.code.name, "reasons": status.message}
                )
        return made

    def filter_frame(self) -> Any:
        """Return a data frame, nodes × Filter plugins: the reasons or "passed", empty if the plugin was not asked."""
        import pandas as pd

        names = self.filters.plugins if self.filters else []
        frame = pd.DataFrame("", index=self.nodes, columns=names)
        for row in self.filter_rows():
            frame.loc[row["node"], row["plugin"]] = row["reasons"] or "passed"
        return frame

    def score_frame(self) -> Any:
        """Return a data frame, feasible nodes × Score plugins: raw, normalized and weighted scores, and the total."""
        import pandas as pd

        if self.scores is None:
            return pd.DataFrame(index=self.feasible)
        columns: dict[tuple[str, str], Any] = {}
        for name, raw in self.scores.raw.items():
            normalized = self.scores.normalized[name]
            columns[name, "raw"] = raw
            columns[name, "normalized"] = normalized
            columns[name, "weighted"] = normalized * self.scores.weights[name]
        columns["total", ""] = self.scores.total
        return pd.DataFrame(columns, index=[self.nodes[row] for row in self.scores.rows])

    def explain(self) -> str:
        """Return a description of the cycle in sentences."""
        name = self.pod.key
        if self.gate is not None:
            return f"Pod {name} does not enter the queue: {self.gate.message}."
        assert self.filters is not None
        if not self.filters.status.ok:
            status = self.filters.status
            if not self.nodes:
                return f"Pod {name}: {status.message}."
            if self.failed:
                return f"{status.plugin} cannot decide about pod {name}: {status.message}."
            return f"{status.plugin} rejects pod {name} before looking at any node: {status.message}."
        lines = []
        feasible = self.feasible
        lines.append(f"Pod {name}: {len(feasible)} of {len(self.nodes)} nodes pass every filter.")
        by_reason: dict[tuple[str, str], list[str]] = {}
        for row, node in enumerate(self.nodes):
            for status in self.statuses_at(row):
                for reason in status.reasons:
                    by_reason.setdefault((status.plugin, reason), []).append(node)
        for (plugin, reason), nodes in sorted(by_reason.items(), key=lambda item: -len(item[1])):
            shown = ", ".join(nodes[:5]) + (f" and {len(nodes) - 5} more" if len(nodes) > 5 else "")
            lines.append(f"  {plugin or 'PreFilter'}: {reason} ({shown})")
        if feasible:
            lines += self._scores_in_words()
        if self.post_filter is not None:
            lines.append(self._preemption_in_words())
        return "\n".join(lines)

    def _scores_in_words(self) -> list[str]:
        if self.scores is None or len(self.feasible) == 1:
            return [f"It goes to {self.suggested_host}, the only one: nothing is scored."]
        lines = []
        best = self.best
        ties = f" (equal: {', '.join(best)})" if len(best) > 1 else ""
        place = list(self.scores.rows).index(self.nodes.index(self.suggested_host)) if self.suggested_host else 0
        parts = [
            f"{name} {int(values[place])}×{self.scores.weights[name]}"
            for name, values in self.scores.normalized.items()
        ]
        lines.append(
            f"It goes to {self.suggested_host} with {int(self.scores.total[place])} points{ties}: {', '.join(parts)}."
        )
        return lines

    def _preemption_in_words(self) -> str:
        assert self.post_filter is not None
        if self.post_filter.code is Code.Success:
            gone = ", ".join(pod.key for pod in self.victims)
            return f"Preemption: removing {gone} makes room on {self.nominated}."
        return f"Nothing can be preempted: {self.post_filter.message.rpartition('preemption: ')[2]}"

    def to_json(self) -> str:
        """Return the annotations that kube-scheduler-simulator writes on a pod, as one JSON object."""
        filters: dict[str, dict[str, str]] = {}
        for row in self.filter_rows():
            filters.setdefault(row["node"], {})[row["plugin"]] = row["reasons"] or "passed"
        scores: dict[str, dict[str, str]] = {}
        final: dict[str, dict[str, str]] = {}
        if self.scores is not None:
            for place, row_number in enumerate(self.scores.rows):
                node = self.nodes[row_number]
                scores[node] = {name: str(int(v[place])) for name, v in self.scores.raw.items()}
                final[node] = {
                    name: str(int(v[place]) * self.scores.weights[name]) for name, v in self.scores.normalized.items()
                }
        prefix = "kube-scheduler-simulator.sigs.k8s.io"
        return json.dumps(
            {
                f"{prefix}/filter-result": json.dumps(filters),
                f"{prefix}/score-result": json.dumps(scores),
                f"{prefix}/finalscore-result": json.dumps(final),
                f"{prefix}/selected-node": self.suggested_host,
                f"{prefix}/postfilter-result": json.dumps(
                    {self.nominated: {"DefaultPreemption": "preemption victim"}} if self.nominated else {}
                ),
            }
        )
