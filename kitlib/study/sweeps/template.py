"""A scenario as data with parameters: the fields of `Scenario.of`, whose texts may hold expressions, and how it runs.

    {"nodes": [{"count": "${3 * zones}", "name": "n${i}", "zone": "zone-${i % zones}", "cpu": 4}],
     "pods": [{"count": 12, "name": "web-${i}", "cpu": 1, "labels": {"app": "web"}}],
     "release": "${release}"}

A list entry with `count` is repeated that many times; `i` numbers the copies from 0. Beside the scenario's fields there
are `release`, `profile` (a profile of a KubeSchedulerConfiguration), `seconds` (virtual time after the first attempts)
and `order` (the order of pods: `given`, or `shuffled` by the seed). The result of a run is its `Driver`, which
`metrics` reads.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from kitlib.api.errors import KitError, shortened
from kitlib.scheduler.configuration import check_configuration
from kitlib.scheduler.driver import Driver
from kitlib.scheduler.profile import Profile
from kitlib.study.scenario import Scenario
from kitlib.study.sweeps.expressions import filled
from kitlib.study.sweeps.grid import RELEASE, SEED

MAX_COUNT = 10_000
MAX_SECONDS = 366 * 86_400
MAX_DEPTH = 50
ORDERS = ("given", "shuffled")
_SETTINGS = (RELEASE, "profile", "seconds", "order")


def run(data: Mapping[str, Any], point: Mapping[str, Any]) -> Driver:
    """Schedule the scenario's waiting pods at one point of a sweep.

    A parameter `seed` also chooses at random among nodes of equal score, as kube-scheduler does; without it the first
    one is chosen. A parameter `release` applies if the data names no release.

    Raises:
        KitError: the data is invalid.
    """
    draw = random.Random(f"{point.get(SEED, 0)}")
    made = _made(data, dict(point), draw, "scenario")
    settings = {name: made.pop(name) for name in _SETTINGS if name in made}
    seconds, order = settings.get("seconds", 0), settings.get("order", "given")
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 <= seconds <= MAX_SECONDS:
        raise KitError(f"scenario.seconds: must be a non-negative number of seconds, got {_shown(seconds)}")
    if order not in ORDERS:
        raise KitError(f"scenario.order: must be one of {', '.join(ORDERS)}, got {_shown(order)}")
    release, profile = settings.get(RELEASE) or point.get(RELEASE), settings.get("profile")
    if release is not None and not isinstance(release, str):
        raise KitError(f'scenario.release: must be a string such as "1.30", got {_shown(release)}')
    if profile is not None:
        check_configuration({"profiles": [profile]})
    if order == "shuffled" and isinstance(made.get("pods"), list):
        draw.shuffle(made["pods"])
    driver = Scenario.of(made).driver(
        release, profile=Profile.from_configuration(profile) if profile else None, seed=point.get(SEED)
    )
    driver.run(seconds)
    return driver


def _made(value: Any, names: dict[str, Any], draw: random.Random, where: str, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        raise KitError(f"{shortened(where, 200)}: nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, str):
        return filled(value, names, draw, where)
    if isinstance(value, Mapping):
        return {
            _key(name, names, draw, where): _made(one, names, draw, f"{where}.{name}", depth + 1)
            for name, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [made for i, one in enumerate(value) for made in _entries(one, names, draw, f"{where}[{i}]", depth + 1)]
    return value


def _key(name: Any, names: dict[str, Any], draw: random.Random, where: str) -> str:
    return str(filled(name, names, draw, where)) if isinstance(name, str) else str(name)


def _entries(one: Any, names: dict[str, Any], draw: random.Random, where: str, depth: int) -> list[Any]:
    """Return a list entry, repeated as its `count` says."""
    if not isinstance(one, Mapping) or "count" not in one:
        return [_made(one, names, draw, where, depth)]
    count = _made(one["count"], names, draw, f"{where}.count")
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= MAX_COUNT:
        raise KitError(f"{where}.count: must be an integer from 0 to {MAX_COUNT}, got {_shown(count)}")
    rest = {name: value for name, value in one.items() if name != "count"}
    return [_made(rest, {**names, "i": i}, draw, where, depth) for i in range(count)]


def _shown(value: Any) -> str:
    return shortened(repr(value), 80)
