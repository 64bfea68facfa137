"""Questions and exercises of notebook 24, sweeps over parameters and seeds."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kitlib.examples.sweeps import example
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
        "How often is log, the smallest pod, killed first?",
        choices=[ALWAYS, MOSTLY, SELDOM],
        answer_of=lambda share: ALWAYS if share == 1 else MOSTLY if share > 0.5 else SELDOM,
        why="Points of log and of web lie close together, so a few pages decide; besides log it was {others}. "
        "Where all together use less than planned, no pod is killed.",
    ),
    Question(
        "pending",
        "The default policy, Ignore; two zones in use, maxSkew 1: how many of the twelve pods wait, on average?",
        unit="pods",
        tolerance=0.01,
        why="The zone under maintenance counts with its zero pods, so each of the other two may hold one. The nodes' "
        "sizes play no part.",
    ),
    Question(
        "policy",
        "And with nodeTaintsPolicy: Honor: does maxSkew 1 cost more waiting pods than maxSkew 5?",
        choices=[NOTHING, ABOUT_ONE, HALF],
        answer_of=_costs,
        why="The tainted nodes are out of the count. What is left of the cost comes from zones of unequal size: the "
        "smallest zone holds back the others.",
    ),
    Question(
        "packs",
        "MostAllocated with weight 1: how many of the eight nodes stay empty, on average?",
        choices=[NONE_OR_ONE, ABOUT_HALF],
        answer_of=lambda nodes: NONE_OR_ONE if nodes <= 1 else ABOUT_HALF,
        why="Points are added up by weight. PodTopologySpread has weight 2 and prefers nodes and zones with fewer "
        "pods: it wins until NodeResourcesFit weighs more.",
    ),
    Question(
        "cluster",
        "maxSkew 2 in the cluster: how many of the five pods wait?",
        unit="pods",
        why="The same as at that point of the sweep: the cordoned zone counts with zero pods, the others hold "
        "two each.",
    ),
]


def _release(answer: Any, _: Any) -> str:
    if not isinstance(answer, Results):
        return "The answer is what study.sweep returns."
    names = {"release", "maxSkew", "zones", "nodeTaintsPolicy"}
    missing = sorted(names - set(answer.parameters))
    if missing:
        return f"The grid has no parameter {missing[0]}."
    points = [row.point for row in answer.rows]
    wanted = {"maxSkew": {1}, "zones": {2}, "release": {"1.24", "1.30"}}
    other = next((name for name, values in wanted.items() if {one[name] for one in points} != values), "")
    honor = [one for one in points if one["nodeTaintsPolicy"] == "Honor"]
    problem = first_problem(
        (bool(answer.errors), f"A point ended in an error: {answer.errors[0].error if answer.errors else ''}"),
        (bool(other), f"The grid has other values of {other} than were asked for."),
        (not honor, "The question is about the policy Honor."),
        ("pending" not in answer.columns, "Measure pending: it is the metric of data where none is given."),
    )
    if problem:
        return problem
    by = answer.mean("pending", "nodeTaintsPolicy", "release")
    changed = by["Honor", "1.24"] > by["Honor", "1.30"]
    return "" if changed else "Nothing changes between the releases: is the scenario skew.scenario, with its seeds?"


EXERCISES = [
    Exercise(
        "likely",
        "victims.share('victim', 'spread') has a mapping for each spread, from 0 to 1.",
        number(
            lambda: 100 * _found("first-victim", spread=30).share("victim", "spread")[30]["web"],
            {0.48: "That is the part; in percent it is a hundred times as much."},
            otherwise="Look up spread 30, then web.",
            tolerance=0.01,
        ),
        'answer = 100 * victims.share("victim", "spread")[30]["web"]',
        "A single run would have named one pod, and not how close it was.",
    ),
    Exercise(
        "cheapest",
        "costs.mean('pending', 'nodeTaintsPolicy', 'maxSkew', 'zones') has every cell of the picture.",
        number(
            lambda: min(
                skew
                for skew, mean in _found("max-skew", nodeTaintsPolicy="Ignore", zones=3)
                .mean("pending", "maxSkew")
                .items()
                if mean < 4
            ),
            {5: "Less is enough.", 2: "That is the row of two zones, or the panel of Honor."},
            otherwise="Walk along the row of three zones in the panel of Ignore.",
        ),
        'answer = min(s for s in (1, 2, 3, 5) if waiting["Ignore", s, 3] < 4)',
    ),
    Exercise(
        "weight",
        "Read the row of MostAllocated in the picture from the smallest weight on.",
        number(
            lambda: min(
                weight
                for weight, mean in _found("packing", strategy="MostAllocated").mean("nodes_free", "weight").items()
                if mean >= 3
            ),
            {1: "With weight 1 the spreading constraints win.", 3: "Less is enough."},
            otherwise="free[strategy, weight] has the means.",
        ),
        'answer = min(w for w in (1, 2, 3, 10) if free["MostAllocated", w] >= 3)',
        "From about the weight of PodTopologySpread on.",
    ),
    Exercise(
        "release",
        "study.sweep(skew.scenario, {…}, seeds=5): release is a parameter like the others.",
        _release,
        """
grid = {"maxSkew": [1], "zones": [2], "nodeTaintsPolicy": ["Honor"], "release": ["1.24", "1.30"]}
answer = study.sweep(skew.scenario, grid, seeds=5)
""",
        "1.24 drops a field that it does not know, and counts the tainted zone; nobody is told.",
    ),
]
