"""A scheduler with its clock that can be stepped forwards and back: actions are recorded and replayed.

    play = Replay(scenario, "1.24")
    play.step()                     # the next action of the scheduler
    play.back()                     # the state before it

Going back creates a new scheduler and replays the earlier actions; the scheduler's decisions are deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kitlib.api.core import Node, Pod
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.driver import Driver, Happening
from kitlib.study.scenario import Scenario

QUEUES = ("activeQ", "backoffQ", "unschedulable", "gated")
Action = Callable[[Driver], str]


@dataclass(frozen=True)
class Frame:
    """The state after an action.

    Attributes:
        seconds: virtual time in seconds.
        what: description of the action.
        queues: names of the waiting pods by queue, in order.
        placed: bound pods by node name.
        waiting: pods without a node, in the order of their creation.
        decision: decision of the scheduling cycle; None if the action was no cycle.
        log: all entries since the start.
    """

    seconds: float
    what: str
    queues: Mapping[str, Sequence[str]]
    placed: Mapping[str, Sequence[Pod]]
    waiting: Sequence[Pod]
    decision: Decision | None
    log: tuple[Happening, ...]

    @property
    def promised(self) -> dict[str, list[str]]:
        """The names of the nominated pods by node name."""
        found: dict[str, list[str]] = {}
        for pod in self.waiting:
            if pod.status.nominated_node_name:
                found.setdefault(pod.status.nominated_node_name, []).append(pod.name)
        return found

    def row(self) -> dict[str, Any]:
        """Return seconds, description and queues as plain data."""
        seconds = int(self.seconds) if self.seconds.is_integer() else self.seconds
        return {"seconds": seconds, "what": self.what, **{name: list(self.queues[name]) for name in QUEUES}}


class Replay:
    """A scenario that is played action by action.

    Args:
        scenario: the initial state.
        release: release of the scheduler; None = the one followed.
        settings: further arguments of `Driver`.
    """

    def __init__(self, scenario: Scenario, release: Release | str | None = None, **settings: Any) -> None:
        self._scenario, self._release, self._settings = scenario, release, settings
        self._actions: list[Action] = []
        self._driver = self._new()
        self._frames = [self._frame("the start", None)]
        self._at = 0

    @property
    def now(self) -> Frame:
        """The current frame."""
        return self._frames[self._at]

    @property
    def frames(self) -> list[Frame]:
        """The frames from the start to the current one."""
        return self._frames[: self._at + 1]

    @property
    def can_go_on(self) -> bool:
        """Whether an undone action can be repeated."""
        return self._at < len(self._actions)

    @property
    def pods(self) -> list[Pod]:
        """All pods of the current state: bound pods first, then waiting ones."""
        placed = [pod for pods in self.now.placed.values() for pod in pods]
        return placed + [pod for key, pod in self._here().pods.items() if not pod.spec.node_name]

    @property
    def nodes(self) -> list[str]:
        """The names of all nodes of the current state."""
        return list(self.now.placed)

    @property
    def last_decision(self) -> Decision | None:
        """The decision of the last scheduling cycle up to the current frame."""
        return next((frame.decision for frame in reversed(self.frames) if frame.decision is not None), None)

    def do(self, action: Action) -> Frame:
        """Perform an action; undone actions are discarded.

        Args:
            action: changes the driver and returns a description.

        Raises:
            KitError: the action is invalid; nothing has changed then.
        """
        driver = self._here()
        before = len(driver.log)
        cycles = _cycles(driver)
        what = action(driver)  # may refuse: then nothing has changed
        self._actions[self._at :] = [action]
        after = _cycles(driver)
        made = next((d for key, d in after.items() if cycles.get(key) is not d), None)
        what = what or "; ".join(entry.message for entry in driver.log[before:]) or "nothing is left to happen"
        self._frames[self._at + 1 :] = [self._frame(what, made)]
        self._at += 1
        return self.now

    def step(self) -> Frame:
        """Perform the scheduler's next action, or repeat the undone one; without any, nothing changes."""
        if self.can_go_on:
            return self.forward()
        before = self.now
        frame = self.do(Driver.step)
        if frame.what == "nothing is left to happen" and before.what == frame.what:
            self._actions.pop()
            self._frames.pop()
            self._at -= 1
        return self.now

    def wait(self, seconds: float) -> Frame:
        """Advance the clock by a number of seconds; the scheduler works meanwhile."""

        def action(driver: Driver) -> str:
            made = len(driver.run(seconds))
            return f"{seconds:g} s pass, {made} {'cycle' if made == 1 else 'cycles'}"

        return self.do(action)

    def add_pod(self, pod: Pod) -> Frame:
        """Create a pod, which enters the scheduling queue unless it has a node."""
        return self.do(lambda driver: f"{driver.add_pod(pod).key} is created")

    def delete_pod(self, name: str) -> Frame:
        """Delete a pod by its name or key."""

        def action(driver: Driver) -> str:
            driver.delete_pod(name)
            return f"{name} is deleted"

        return self.do(action)

    def remove_gates(self, name: str) -> Frame:
        """Remove all scheduling gates of a pod."""

        def action(driver: Driver) -> str:
            changed = deepcopy(driver.pod(name))
            changed.spec.scheduling_gates = []
            driver.update_pod(changed)
            return f"the gates of {name} are removed"

        return self.do(action)

    def add_node(self, node: Node) -> Frame:
        """Add a node."""

        def action(driver: Driver) -> str:
            driver.add_node(node)
            return f"node {node.name} joins"

        return self.do(action)

    def back(self) -> Frame:
        """Undo an action; at the start nothing changes."""
        self._at = max(self._at - 1, 0)
        return self.now

    def forward(self) -> Frame:
        """Repeat the action that was undone last; without any, nothing changes."""
        self._at = min(self._at + 1, len(self._actions))
        return self.now

    def _new(self) -> Driver:
        self._stands_at = 0
        return self._scenario.driver(self._release, **self._settings)

    def _here(self) -> Driver:
        """Return the driver in the current state, replaying actions if necessary."""
        if self._stands_at != self._at:
            if self._stands_at > self._at:
                self._driver = self._new()
            for action in self._actions[self._stands_at : self._at]:
                action(self._driver)
            self._stands_at = self._at
        return self._driver

    def _frame(self, what: str, decision: Decision | None) -> Frame:
        driver = self._driver
        self._stands_at = len(self._actions)
        placed: dict[str, list[Pod]] = {node.name: [] for node in driver.scheduler.snapshot.nodes}
        waiting: list[Pod] = []
        for pod in driver.pods.values():
            if pod.spec.node_name:
                placed[pod.spec.node_name].append(pod)
            else:
                waiting.append(pod)
        queues = {name: list(pods) for name, pods in driver.waiting().items()}
        seconds = driver.clock.now_ms() / 1000
        return Frame(seconds, what, queues, placed, waiting, decision, tuple(driver.log))


def _cycles(driver: Driver) -> dict[str, Decision]:
    return dict(driver.decisions)
