"""No manifest of a learner's stops the grader: random edits of every lab's manifests are graded, not crashed on.

The default suite tries a few for each lab; KITLIB_FUZZ says how many, and KITLIB_FUZZ_SEED from where.
"""

import copy
import os
import random
from contextlib import suppress
from pathlib import Path

import pytest

from kitlib.api.errors import KitError
from kitlib.api.serialize import load_data
from kitlib.lab.definition import LabFolder
from kitlib.lab.grader import STOPPED, grade, prepare
from kitlib.lab.history import History

LABS = Path(__file__).parents[2] / "labs"
NAMES = sorted(path.parent.name for path in LABS.glob("*/lab.toml"))
EDITS = int(os.environ.get("KITLIB_FUZZ") or 1)
SEED = int(os.environ.get("KITLIB_FUZZ_SEED") or 0)
AMOUNTS = ["0", "1", "1Mi", "100m", "3", "64Gi", "0.5", "1e3", "900Pi", "500n"]
ODD = [None, "", [], {}, 0, -1, True, "x", "9" * 40, [None], {"name": "main"}]
ADDED = [
    ("resources", {"limits": {"cpu": "1", "memory": "256Mi"}}),
    ("resources", {"requests": {"memory": "64Mi"}}),
    ("nodeName", "node-1"),
    ("nodeSelector", {"disk": "none"}),
    ("tolerations", [{"operator": "Exists"}]),
    ("affinity", {"podAntiAffinity": {}, "nodeAffinity": {}, "podAffinity": {}}),
    ("topologySpreadConstraints", [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]),
    ("schedulingGates", [{"name": "a/b"}]),
    ("priorityClassName", "system-node-critical"),
    ("initContainers", [{"name": "first", "image": "a", "command": ["true"]}]),
    ("overhead", {"cpu": "100m"}),
    ("restartPolicy", "Never"),
    ("terminationGracePeriodSeconds", 0),
    ("hostNetwork", True),
]


def places(data, path=()):
    """Every place in plain data."""
    if path:
        yield path
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in pairs:
        yield from places(value, (*path, key))


def edited(manifest, drawn):
    """The manifest with one to three random changes."""
    made = copy.deepcopy(manifest)
    for _ in range(drawn.randint(1, 3)):
        if drawn.random() < 0.3 and isinstance(made.get("spec"), dict):  # a PriorityClass has none
            spec = made["spec"]
            if "template" in spec and isinstance(spec["template"], dict):
                spec = spec["template"].get("spec", spec)
            if isinstance(spec, dict):
                key, value = drawn.choice(ADDED)
                spec[key] = copy.deepcopy(value)
            continue
        found = [p for p in places(made) if len(p) > 1 or p[0] in ("spec", "metadata")]
        if not found:
            break
        path = drawn.choice([p for p in found if len(p) > 1] or found)
        parent = made
        for step in path[:-1]:
            parent = parent[step]
        kind = drawn.random()
        if kind < 0.35:
            del parent[path[-1]]
        elif kind < 0.65:
            parent[path[-1]] = drawn.choice(AMOUNTS)
        elif kind < 0.85:
            parent[path[-1]] = copy.deepcopy(drawn.choice(ODD))
        elif isinstance(parent, list):
            parent.append(copy.deepcopy(parent[path[-1]]))
        else:
            parent[f"{path[-1]}x"] = parent[path[-1]]
        if "spec" in manifest and not isinstance(made.get("spec"), dict):
            break
    return made


def manifests(folder):
    """The manifests of the start."""
    return [load_data(text) for text in folder.setup().split("\n---\n") if text.strip()]


@pytest.mark.parametrize("name", NAMES)
def test_random_edits_are_graded(name):
    drawn = random.Random(f"{name}:{SEED}")
    applied = 0
    for number in range(EDITS):
        folder = LabFolder.read(LABS / name, drawn.randrange(50))
        cluster = prepare(folder)
        history = History(cluster)
        for _ in range(drawn.randint(1, 2)):
            one = drawn.choice(manifests(folder))
            changed = edited(one, drawn)
            with suppress(KitError):
                if drawn.random() < 0.8:
                    cluster.delete(one["kind"], one["metadata"]["name"])
            with suppress(KitError):
                cluster.apply(changed)
                applied += 1
        cluster.advance(drawn.choice([0, 5, 40]))
        found = grade(folder, cluster, (), None, history)
        stopped = [str(result) for result in found.results if STOPPED in result.found]
        assert not stopped, f"edit {number}: {changed}\n{stopped}"
        assert found.results and all(0 <= result.points <= result.of for result in found.results)
    assert applied or EDITS < 20
