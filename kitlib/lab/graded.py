"""The results of a check as a notebook shows them: solved parts, broken rules, and the next step."""

from __future__ import annotations

import html

from kitlib.lab.definition import Definition
from kitlib.lab.grader import Grade, TaskResult
from kitlib.lab.rules import RuleResult
from kitlib.lab.score import Score


class Graded:
    """The results of a check.

    Args:
        grade: the grader's result.
        points: the learner's score in the lab.
        definition: the lab's definition.
        following: name and title of the next lab; "" = this is the last one.
        tally: the real part of the lab, as one line; "" = no line.

    Attributes:
        results: one result for each task.
        rules: one result for each rule.
        points: the learner's score in the lab.
        score: (best points, possible points).
    """

    def __init__(
        self, grade: Grade, points: Score, definition: Definition, following: str = "", tally: str = ""
    ) -> None:
        self.results, self.rules, self.points = grade.results, grade.rules, points
        self.score = (points.best, points.of)
        self._definition, self._following, self._tally = definition, following, tally

    @property
    def passed(self) -> bool:
        """Whether every task that was checked passed."""
        return all(result.passed for result in self.results)

    @property
    def solved(self) -> bool:
        """Whether the whole lab is solved as it stands."""
        return self.passed and {r.task for r in self.results} == {t.key for t in self._definition.tasks}

    def _end(self) -> list[str]:
        """Return the lines below the results."""
        said = []
        if self.solved:
            said.append("Solved.")
            if self._definition.left:
                said.append(f"What is left: {self._definition.left}")
            said.append(f"Next: {self._following}" if self._following else "This was the last lab.")
        return [*said, *([self._tally] if self._tally else [])]

    def __str__(self) -> str:
        rules = [f"Rule {rule}" for rule in self.rules]
        return "\n".join([*map(str, self.results), *rules, f"{self.points}", *self._end()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(map(_row, self.results))
        rules = "".join(map(_rule, self.rules))
        end = "".join(f"<p>{'<b>Solved.</b>' if text == 'Solved.' else html.escape(text)}</p>" for text in self._end())
        return (
            "<style>.kitlib-graded :is(th,td){text-align:left!important;vertical-align:top}</style>"
            '<div role="status" class="kitlib-graded"><table><thead><tr><th scope="col">task</th>'
            '<th scope="col">points</th><th scope="col">found</th><th scope="col">expected</th>'
            f'<th scope="col">next step</th></tr></thead><tbody>{rows}</tbody></table>'
            + (f"<ul>{rules}</ul>" if rules else "")
            + f'<p><meter max="{self.points.of or 1:g}" value="{self.points.best:g}"></meter> '
            f"{html.escape(str(self.points))}</p>{end}</div>"
        )


def _row(result: TaskResult) -> str:
    cells = (result.found or "; ".join(result.remarks), result.expected, result.hint)
    return (
        f"<tr><td>{'✓' if result.passed else '✗'} {html.escape(result.title)}</td>"
        f"<td>{result.points:g}/{result.of:g}</td>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells) + "</tr>"
    )


def _rule(rule: RuleResult) -> str:
    if rule.kept:
        return f"<li>✓ {html.escape(rule.title)}</li>"
    hint = f"<br>{html.escape(rule.hint)}" if rule.hint else ""
    return f"<li><b>✗ {html.escape(rule.title)}</b>: {html.escape(rule.found)}{hint}</li>"
