"""Draw twenty scenes from a seed, without the texts that give the answer, for readers who have not seen the kit.

    python -m tests.charts.picture_questions FOLDER KEY.json [--seed 45]

FOLDER gets `01.png` to `20.png` (1,000 px wide) and `questions.txt`; KEY.json, which is kept away from the readers, has
the answers. Names, marks and axes remain in a picture; figures, sentences and descriptions are removed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from kitlib import charts
from kitlib.charts.base import Chart
from kitlib.charts.releases import release_board
from kitlib.node.simulated.cpu.sharing import water_fill
from kitlib.views.tokens import css

MI = 2**20
NAMES = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron"]
MARKS = {"✓", "✗", "✗✗", "★", "⚔", "▲", "☆", "–"}
LEGEND = ("memory in use", "added or taken away by oom_score_adj")
"""Texts of the legend in the ranking of the OOM killer."""
PARTS = ("in use", "available")
"""Names of the two parts of an eviction signal's bar."""
_AMOUNT = re.compile(r" ~?[\d.]+[MG]i$")
_TEXT = re.compile(r"<text([^>]*)>(.*?)</text>", re.S)


@dataclass(frozen=True)
class Scene:
    """A picture with a question.

    Attributes:
        question: the question.
        chart: the picture.
        answer: the only right answer.
        kept: texts that remain in the picture besides marks.
    """

    question: str
    chart: Chart
    answer: str
    kept: Iterable[str]


def blanked(svg: str, kept: Iterable[str]) -> str:
    """Return a picture in which only the given texts and the marks remain."""
    names = {*kept, *MARKS}

    def text(found: re.Match[str]) -> str:
        said = re.sub(r"<[^>]+>", "", found[2]).strip()
        bare = _AMOUNT.sub("", said)
        return f"<text{found[1]}>{bare}</text>" if bare in names else ""

    plain = _TEXT.sub(text, svg)
    plain = re.sub(r"<(title|desc)>.*?</\1>", "", plain, flags=re.S)
    return re.sub(r' aria-label="[^"]*"', "", plain)


def throttled(draw: Random) -> Scene:
    """Return strips of periods, of which exactly one is mostly throttled."""
    names = draw.sample(NAMES, 4)
    worst = draw.choice(names)
    periods = {}
    for name in names:
        if name == worst:
            periods[name] = [(20.0, 80.0) if draw.random() < 0.85 else (10.0, 0.0) for _ in range(20)]
        else:
            periods[name] = [(draw.uniform(10, 95), 0.0) for _ in range(20)]
    return Scene("Which pod is throttled?", charts.throttling_chart(periods), worst, names)


def nearest(draw: Random) -> Scene:
    """Return usage lines, each with a limit; one is much nearer to its limit than the others."""
    names = draw.sample(NAMES, 3)
    limits = dict(zip(names, draw.sample([128 * MI, 256 * MI, 512 * MI], 3), strict=True))
    worst = draw.choice(names)
    lines = {}
    for name in names:
        end = limits[name] * (0.95 if name == worst else draw.uniform(0.3, 0.6))
        lines[name] = [end * (0.5 + 0.5 * second / 20) for second in range(21)]
    chart = charts.usage_chart(list(range(21)), lines, limits=limits)
    kept = [*names, *(f"limit of {name}" for name in names)]
    return Scene("Which pod is nearest its memory limit?", chart, worst, kept)


def dies_next(draw: Random) -> Scene:
    """Return the points of the OOM killer; the highest dies, which need not use the most memory."""
    pages = 2 * 2**30 // 4096
    while True:
        rows = []
        for name in draw.sample(NAMES, 4):
            adj, used = draw.choice([-997, 200, 500, 900, 1000]), draw.randint(60, 700)
            points = used * MI // 4096 + adj * pages // 1000
            qos = {-997: "Guaranteed", 1000: "BestEffort"}.get(adj, "Burstable")
            rows.append({"name": name, "qos": qos, "memory_bytes": used * MI, "oom_score_adj": adj, "badness": points})
        first, second = sorted(rows, key=lambda row: -row["badness"])[:2]
        largest = max(rows, key=lambda row: row["memory_bytes"])
        if first["badness"] > 1.15 * max(second["badness"], 1) and first is not largest:
            break
    names = [row["name"] for row in rows]
    draw.shuffle(rows)
    chart = charts.oom_ranking(rows, told=False)
    return Scene("Memory runs out. Which process does the kernel kill?", chart, first["name"], [*names, *LEGEND])


def waits(draw: Random) -> Scene:
    """Return a board of filters on which one plugin refuses most nodes."""
    plugins = ["NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread"]
    nodes = [f"node-{number}" for number in range(1, 8)]
    main, other = draw.sample(plugins[1:], 2)
    refused = dict.fromkeys(draw.sample(nodes, 5), main)
    verdicts = {}
    for node in nodes:
        by = refused.get(node, other)
        for plugin in plugins:
            verdicts[node, plugin] = ("Unschedulable", "refused") if plugin == by else ("Success", "")
            if plugin == by:
                break
    question = "The pod waits. Which plugin keeps it from most of the nodes?"
    return Scene(question, charts.filter_board(nodes, plugins, verdicts), main, [*nodes, *plugins])


def release_changed(draw: Random) -> Scene:
    """Return the pod's node by release; one release moves it."""
    nodes, releases = [f"node-{number}" for number in range(1, 4)], [f"1.{minor}" for minor in range(28, 36)]
    change = draw.randrange(2, 7)
    before, after = draw.sample(nodes, 2)
    verdicts = {}
    for place, release in enumerate(releases):
        best = before if place < change else after
        for node in nodes:
            level = "best" if node == best else "rejected" if node in (before, after) else "passes"
            verdicts[node, release] = (level, "")
    question = "With which release does the pod begin to go to another node, and to which one?"
    return Scene(
        question,
        release_board(nodes, releases, verdicts),
        f"{releases[change]}: {after}",
        [*nodes, *(f"v{name}" for name in releases)],
    )


def skew(draw: Random) -> Scene:
    """Return zones as columns; the next pod fits below the line in exactly one."""
    while True:
        counts = [draw.randint(1, 5) for _ in range(4)]
        most = draw.choice([1, 2])
        allowed = [count + 1 - min(counts) <= most for count in counts]
        if sum(allowed) == 1:
            break
    zones = [f"zone-{letter}" for letter in "abcd"]
    rows = [
        {"domain": zone, "pods": count, "counted": count, "skew": count + 1 - min(counts), "allowed": fits}
        for zone, count, fits in zip(zones, counts, allowed, strict=True)
    ]
    return Scene(
        "Into which zone may the next pod go?",
        charts.spread_chart(rows, most, "zone"),
        zones[allowed.index(True)],
        zones,
    )


def preempted(draw: Random) -> Scene:
    """Return candidates of preemption; the nominated one is marked."""
    nodes, names = [f"node-{number}" for number in range(1, 4)], draw.sample(NAMES, 6)
    rows = []
    for place, node in enumerate(nodes):
        priority = draw.choice([1, 5, 10]) + 20 * place
        victims = names[2 * place : 2 * place + draw.randint(1, 2)]
        sums = priority * len(victims)
        rows.append(
            {
                "node": node,
                "victims": victims,
                "highest_priority": priority,
                "sum_of_priorities": sums,
                "pdb_violations": 0,
            }
        )
    draw.shuffle(rows)
    best = min(rows, key=lambda row: row["highest_priority"])
    chart = charts.preemption_chart(rows, best["node"])
    answer = f"{best['node']}: {', '.join(sorted(best['victims']))}"
    return Scene("To which node does the waiting pod go, and which pods must leave?", chart, answer, [*nodes, *names])


def left_over(draw: Random) -> Scene:
    """Return busy pods, of which one is held by its limit."""
    names = draw.sample(NAMES, 3)
    weights = [draw.choice([20, 40, 80]) for _ in names]
    held = draw.randrange(3)
    limits = [None, None, None]
    limits[held] = round(4 * weights[held] / sum(weights) * draw.uniform(0.3, 0.6), 1)
    pairs = [(weight, limit or 4.0) for weight, limit in zip(weights, limits, strict=True)]
    cpus = [float(one) for one in water_fill(pairs, 4)]
    chart = charts.shares_chart(names, weights, cpus, limits=limits)
    return Scene("Which pod gets less CPU than its weight promises?", chart, names[held], names)


def evicts(draw: Random) -> Scene:
    """Return three signals of eviction, one past its threshold."""
    signals = ["memory.available", "nodefs.available", "imagefs.available"]
    met = draw.choice(signals)
    rows = []
    for signal in signals:
        capacity = draw.choice([8, 16, 32]) * 1024 * MI
        threshold = capacity // draw.choice([8, 10, 20])
        left = threshold * (0.6 if signal == met else draw.uniform(2.5, 6))
        rows.append(
            {
                "signal": signal,
                "available": int(left),
                "capacity": capacity,
                "threshold": threshold,
                "met": signal == met,
            }
        )
    return Scene(
        "Because of which signal does the kubelet evict pods?", charts.eviction_gauge(rows), met, [*signals, *PARTS]
    )


def rolled(draw: Random) -> Scene:
    """Return a killed container in a memory line: the moment is the answer."""
    at = draw.randint(5, 15)
    used = [(20 + (8 * second if second < at else 2 * (second - at))) * MI for second in range(21)]
    limit = {"web": (20 + 8 * at) * MI}
    seconds = list(range(21))
    chart = charts.usage_chart(seconds, {"web": used}, limits=limit, marks=[(at, "", "end")])
    kept = [str(second) for second in seconds] + [f"{second} s" for second in seconds]
    return Scene("In which second is the container killed (within 1 s)?", chart, str(at), kept)


KINDS: list[Callable[[Random], Scene]] = [
    throttled,
    nearest,
    dies_next,
    waits,
    release_changed,
    skew,
    preempted,
    left_over,
    evicts,
    rolled,
]


def scenes(seed: int) -> list[Scene]:
    """Return twenty scenes, each kind twice, in an order drawn from the seed."""
    draw = Random(seed)
    made = [kind(draw) for kind in KINDS for _ in range(2)]
    draw.shuffle(made)
    return made


def main() -> None:
    """Write the pictures, the questions and the key."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("--seed", type=int, default=45)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    chromium = os.environ.get("KITLIB_CHROMIUM") or shutil.which("chromium")
    questions, key = [], {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1000, "height": 400})
        for number, scene in enumerate(scenes(given.seed), start=1):
            picture = blanked(scene.chart.svg(976), scene.kept)
            page.set_content(f"<style>{css()} body {{ margin: 12px; background: #fff }}</style>{picture}")
            page.locator("svg").first.screenshot(path=str(given.folder / f"{number:02d}.png"))
            questions.append(f"{number:02d}.png: {scene.question}")
            key[f"{number:02d}"] = {"question": scene.question, "answer": scene.answer}
        browser.close()
    (given.folder / "questions.txt").write_text("\n".join(questions) + "\n")
    given.key.write_text(json.dumps(key, indent=1))


if __name__ == "__main__":
    main()
