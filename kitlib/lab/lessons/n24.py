"""Questions and exercises of notebook 24, sweeps over parameters and seeds."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kitlib.examples.sweeps import example
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, first_problem, number
from kitlib.study.sweeps import Results, Sweep

ALWAYS, MOSTLY, SELDOM = "always", "more than half of the time", "less than half of the time"
NOTHING, ABOUT_ONE, HALF = "no, nothing", "yes, about one pod", "yes, about half of the pods"
NONE_OR_ONE, ABOUT_HALF = "none or one", "about half of them"


@lru_cache(maxsize=3)
def _found(name: str, **only: Any) -> Results:
    """Run an example restricted to these values of its parameters; a judge reads no other rows."""
    whole = example(name)
    grid = {**dict(whole.grid), **{parameter: [value] for parameter, value in only.items()}}
    return Sweep(whole.scenario, grid, whole.metric, seeds=whole.seeds).run(workers=0)


def _costs(difference: float) -> str:
    return NOTHING if difference < 0.2 else ABOUT_ONE if difference < 2.5 else HALF


QUESTIONS = [
    Question(
        "victim",
        "How often does the kernel kill the smallest pod, log, first?",
        choices=[ALWAYS, MOSTLY, SELDOM],
        answer_of=lambda share: ALWAYS if share == 1 else MOSTLY if share > 0.5 else SELDOM,
        why="The scores of the pods log and web are close together, so a few pages of memory change the "
        "victim. In other runs the victim was {others}. If all pods together use less than planned, "
        "no pod is killed.",
    ),
    Question(
        "pending",
        "With the default policy Ignore, two zones in use and maxSkew 1, how many of the twelve pods wait on average?",
        unit="pods",
        tolerance=0.01,
        why="The zone under maintenance counts with zero pods, so each of the other two zones may have only one pod. "
        "The sizes of the nodes have no effect on this.",
    ),
    Question(
        "policy",
        "With nodeTaintsPolicy: Honor, do more pods wait with maxSkew 1 than with maxSkew 5?",
        choices=[NOTHING, ABOUT_ONE, HALF],
        answer_of=_costs,
        why="With Honor the scheduler does not count the tainted nodes. Some pods wait because zones have "
        "unequal sizes: the smallest zone limits the others.",
    ),
    Question(
        "packs",
        "With the strategy MostAllocated and weight 1, how many of the eight nodes stay empty on average?",
        choices=[NONE_OR_ONE, ABOUT_HALF],
        answer_of=lambda nodes: NONE_OR_ONE if nodes <= 1 else ABOUT_HALF,
        why="The scheduler adds scores by weight. PodTopologySpread has weight 2 and prefers nodes and zones with "
        "fewer pods. PodTopologySpread determines the node until NodeResourcesFit has more weight.",
    ),
    Question(
        "cluster",
        "In a cluster with maxSkew 2, how many of the five pods wait?",
        unit="pods",
        why="The cluster and the sweep have the same result: the cordoned zone counts with zero pods, and "
        "the other zones have two pods each.",
        picture=show.placed("The five pods", words={"n3": "cordoned"}),
    ),
]


def _release(answer: Any, _: Any) -> str:
    if not isinstance(answer, Results):
        return "The answer is the value that study.sweep returns."
    names = {"release", "maxSkew", "zones", "nodeTaintsPolicy"}
    missing = sorted(names - set(answer.parameters))
    if missing:
        return f"The grid has no parameter {missing[0]}."
    points = [row.point for row in answer.rows]
    wanted = {"maxSkew": {1}, "zones": {2}, "release": {"1.24", "1.30"}}
    other = next((name for name, values in wanted.items() if {point[name] for point in points} != values), "")
    honor = [point for point in points if point["nodeTaintsPolicy"] == "Honor"]
    problem = first_problem(
        (bool(answer.errors), f"A point ended in an error: {answer.errors[0].error if answer.errors else ''}"),
        (bool(other), f"The grid has other values of {other} than the exercise requires."),
        (not honor, "The question is about the policy Honor."),
        ("pending" not in answer.columns, "Measure pending. It is the default metric of scenario data."),
    )
    if problem:
        return problem
    by = answer.mean("pending", "nodeTaintsPolicy", "release")
    changed = by["Honor", "1.24"] > by["Honor", "1.30"]
    return "" if changed else "Both releases have the same result. Is the scenario skew.scenario, with its seeds?"


EXERCISES = [
    Exercise(
        "likely",
        "victims.share('victim', 'spread') contains the shares for each spread, from 0 to 1.",
        number(
            lambda: 100 * _found("first-victim", spread=30).share("victim", "spread")[30]["web"],
            {0.48: "0.48 is the share. In percent it is a hundred times as much."},
            otherwise="Look up spread 30, then web.",
            tolerance=0.01,
        ),
        'answer = 100 * victims.share("victim", "spread")[30]["web"]',
        "A single run shows one pod, but not how close the scores were.",
    ),
    Exercise(
        "cheapest",
        "costs.mean('pending', 'nodeTaintsPolicy', 'maxSkew', 'zones') contains every cell of the picture.",
        number(
            lambda: min(
                skew
                for skew, mean in _found("max-skew", nodeTaintsPolicy="Ignore", zones=3)
                .mean("pending", "maxSkew")
                .items()
                if mean < 4
            ),
            {5: "Less is enough.", 2: "2 is in the row of two zones, or in the panel of Honor."},
            otherwise="Walk along the row of three zones in the panel of Ignore.",
        ),
        'answer = min(s for s in (1, 2, 3, 5) if waiting["Ignore", s, 3] < 4)',
    ),
    Exercise(
        "weight",
        "Read the row of MostAllocated in the picture, and start at the smallest weight.",
        number(
            lambda: min(
                weight
                for weight, mean in _found("packing", strategy="MostAllocated").mean("nodes_free", "weight").items()
                if mean >= 3
            ),
            {1: "With weight 1 the spreading constraints win.", 3: "Less is enough."},
            otherwise="free[strategy, weight] contains the means.",
        ),
        'answer = min(w for w in (1, 2, 3, 10) if free["MostAllocated", w] >= 3)',
        "This weight is close to the weight of PodTopologySpread.",
    ),
    Exercise(
        "release",
        "Use study.sweep(skew.scenario, {…}, seeds=5). The release is a parameter like the others.",
        _release,
        """
grid = {"maxSkew": [1], "zones": [2], "nodeTaintsPolicy": ["Honor"], "release": ["1.24", "1.30"]}
answer = study.sweep(skew.scenario, grid, seeds=5)
""",
        "Release 1.24 drops the unknown field without a message, and counts the tainted zone.",
    ),
]
