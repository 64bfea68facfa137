"""PreScore, Score and NormalizeScore for the feasible nodes, and the weighted sum.

Source: schedule_one.go prioritizeNodes; framework runtime (RunPreScorePlugins, RunScorePlugins).
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from kitlib.api.errors import KitError
from kitlib.scheduler.framework.plugin import SKIP, Context, Handle, Scores
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code, Rows, Status


class ScoreError(KitError):
    """An error of a Score plugin, which ends the cycle. Source: RunScorePlugins.

    Args:
        plugin: the plugin's name.
        problem: the plugin's message.
    """

    def __init__(self, plugin: str, problem: str) -> None:
        super().__init__(f'running Score plugins: plugin "{plugin}" failed with: {problem}')
        self.status = Status(Code.Error, (str(self),), plugin)


@dataclass
class ScoreOutcome:
    """The scores of the feasible rows.

    Attributes:
        rows: the feasible rows.
        raw, normalized: plugin -> scores, in the order of `rows`.
        weights: plugin -> weight.
        total: the weighted sum.
    """

    rows: Rows
    raw: dict[str, Scores]
    normalized: dict[str, Scores]
    weights: dict[str, int]
    total: Scores

    @property
    def best(self) -> Rows:
        """The rows with the highest total."""
        return best_rows(self.rows, self.total)


def best_rows(rows: Rows, total: Scores) -> Rows:
    """Return the rows with the highest total; none of none."""
    return rows[total == total.max()] if len(rows) else rows


def random_row(rows: Rows, dice: Random) -> int:
    """Return one of equally good rows by chance, as kube-scheduler does. Source: sortedNodeScores.Pop."""
    return int(rows[dice.randrange(len(rows))])


def prioritize_nodes(handle: Handle, info: PodInfo, context: Context, rows: Rows) -> ScoreOutcome:
    """Run PreScore, Score and NormalizeScore, and add up the weighted scores.

    Source: prioritizeNodes, RunScorePlugins.
    """
    outcome = ScoreOutcome(rows, {}, {}, {}, np.zeros(len(rows), np.int64))
    states = {plugin.name: plugin.pre_score(info, context, rows) for plugin in handle.at("pre_score")}
    for plugin in handle.at("score"):
        name = plugin.name
        if name not in states and plugin.takes_part("pre_score"):  # its PreScore is disabled
            if plugin.missing_score_state and len(rows) > 1:
                raise ScoreError(name, plugin.missing_score_state)
            if plugin.missing_score_state:  # the real scheduler does not score a single node
                continue
            states[name] = plugin.pre_score(info, context, rows)
        state = states.get(name)
        if state is SKIP:
            continue
        raw = plugin.score(state, info, context, rows)
        scaled = plugin.normalize(state, raw)
        weight = handle.weights[name]
        outcome.raw[name], outcome.normalized[name] = raw, scaled
        outcome.weights[name] = weight
        outcome.total += scaled * weight
    return outcome
