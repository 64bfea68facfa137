"""A Decision as a board: a row for each node, a column for each Filter and Score plugin, a mark with text in each cell.

For a step of the cycle, the board shows only the results up to this step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.post_filter import Candidate
from kitlib.study.compare import verdict
from kitlib.study.stepper import CycleStep
from kitlib.views.decision import MOST_NODES, shown_nodes

Cell = tuple[str, str, str]
"""(mark, text, kind) of a cell; kind is ok, no, hard, score, best or none."""


HELP = (
    "Arrow keys walk through the cells; the line above says what stands behind the one that you are on. ✓ passes, "
    "✗ refused (may change when pods leave), ✗✗ refused for good, ★ chosen, – not run; numbers are points."
)


@dataclass(frozen=True)
class Board:
    """A table for the screen, screen readers and the keyboard.

    Attributes:
        left_out: number of nodes without a row.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[Cell]]
    left_out: int = 0

    @property
    def help(self) -> str:
        """An explanation of the marks, and the number of nodes without a row."""
        if not self.left_out:
            return HELP
        return f"{HELP} {len(self.rows)} nodes are shown, the best and some of every reason; {self.left_out} are not."


def decision_board(decision: Decision, known: Sequence[CycleStep] | None = None, most: int = MOST_NODES) -> Board:
    """Return the board of a scheduling cycle.

    Args:
        decision: the cycle's Decision.
        known: the steps done so far; None = the whole cycle. The scores have columns once one of them is known.
        most: maximum number of nodes.
    """
    nodes = shown_nodes(decision, most)
    filters, scored = _columns(decision)
    seen = None if known is None else {(step.point, step.plugin) for step in known}
    if seen is not None and not any(point == "Score" for point, _ in seen):
        scored = []
    verdicts = {(row["node"], row["plugin"]): row for row in decision.filter_rows()}
    places = {decision.nodes[row]: i for i, row in enumerate(decision.scores.rows)} if decision.scores else {}

    def filtered(node: str, plugin: str) -> Cell:
        row = verdicts.get((node, plugin))
        if seen is not None and ("Filter", plugin) not in seen:
            return "", "has not run yet", "none"
        if row is None:
            return "–", "not run: an earlier filter refused the node", "none"
        if not row["reasons"]:
            return "✓", "passes", "ok"
        hard = row["code"] == "UnschedulableAndUnresolvable"
        more = "; preemption would not help" if hard else ""
        return ("✗✗" if hard else "✗"), f"{row['reasons']}{more}", "hard" if hard else "no"

    def score(node: str, plugin: str) -> Cell:
        if seen is not None and ("Score", plugin) not in seen:
            return "", "has not run yet", "none"
        place = places.get(node)
        if place is None or decision.scores is None:
            return "–", "not run: a filter refused the node", "none"
        if not plugin:
            kind = "best" if node in decision.best else "score"
            star = " ★" if kind == "best" else ""
            return f"{int(decision.scores.total[place])}{star}", "the sum of all weighted scores", kind
        raw, normal = int(decision.scores.raw[plugin][place]), int(decision.scores.normalized[plugin][place])
        weight = decision.scores.weights[plugin]
        said = f"raw {raw}, normalized {normal}, times weight {weight} is {normal * weight}"
        return str(normal * weight), said, "score"

    cells = [[filtered(n, p) for p in filters] + [score(n, p) for p in scored] for n in nodes]
    columns = [*filters, *(f"{p} (score)" if p else "total" for p in scored)]
    return Board(nodes, columns, cells, len(decision.nodes) - len(nodes))


def _columns(decision: Decision) -> tuple[list[str], list[str]]:
    filters = list(decision.filters.plugins) if decision.filters is not None else []
    scored = [*decision.scores.normalized, ""] if decision.scores is not None else []
    return filters, scored


def outcome_of(decision: Decision, node: str) -> tuple[str, str]:
    """Return a node's outcome for a chart of releases: (`rejected`, `passes`, `best` or `victims`, the reason)."""
    if node == decision.nominated:
        gone = ", ".join(pod.key for pod in decision.victims)
        return "victims", f"{gone} must leave; {verdict(decision, node)}"
    if node in decision.best:
        return "best", verdict(decision, node)
    return ("passes" if node in decision.feasible else "rejected"), verdict(decision, node)


def _start(candidate: Candidate) -> str:
    """Return when the first victim of the highest priority started, as a time of day; "" = no such pod has started."""
    highest = max(victim.priority for victim in candidate.victims)
    starts = [victim.pod.status.start_time for victim in candidate.victims if victim.priority == highest]
    return f"{min(filter(None, starts)):%H:%M:%S}" if any(starts) else ""


def candidate_rows(decision: Decision) -> list[dict[str, object]]:
    """Return the victims and the cost of preemption on each node, the cheapest first."""
    if decision.post_filter is None:
        return []
    ordered = sorted(decision.post_filter.candidates.values(), key=lambda candidate: candidate.cost)
    return [
        {
            "node": candidate.node,
            "victims": [victim.pod.name for victim in candidate.victims],
            "highest_priority": candidate.victims[0].priority,
            "sum_of_priorities": sum(victim.priority for victim in candidate.victims),
            "pdb_violations": candidate.violations,
            "start": _start(candidate),
        }
        for candidate in ordered
    ]
