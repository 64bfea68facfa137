"""The rate of NoExecute taints for failed nodes, by zone.

One node is tainted in ten seconds, fewer where a large part of the zone has failed, none where all zones have.

Source: pkg/controller/nodelifecycle ComputeZoneState, handleDisruption, setLimiterInZone, ReducedQPSFunc;
scheduler.RateLimitedTimedQueue; client-go util/flowcontrol.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from kitlib.api.core import Node

EVICTION_RATE = 0.1
"""The nodes per second that get a NoExecute taint in a zone. Source: --node-eviction-rate."""
SECONDARY_EVICTION_RATE = 0.01
"""The nodes per second in a large zone in PartialDisruption. Source: --secondary-node-eviction-rate."""
UNHEALTHY_ZONE_THRESHOLD = 0.55
"""The share of unready nodes, at least three, that makes a zone unhealthy. Source: --unhealthy-zone-threshold."""
LARGE_CLUSTER_SIZE = 50
"""The maximum size of a small zone, where an unhealthy zone taints no node. Source: --large-cluster-size-threshold."""
_TINY = 1e-9  # tolerance for rounding errors in a sum of fractions of a token
_REGIONS = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
_ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")

EXCLUDED = "node.kubernetes.io/exclude-disruption"
"""The label of nodes that do not count for the state of their zone. Source: labelNodeDisruptionExclusion."""

ZoneState = Literal["Initial", "Normal", "PartialDisruption", "FullDisruption"]


def zone_of(node: Node) -> str:
    """Return the key of a node's region and zone; "" without both labels. Source: component-helpers GetZoneKey."""
    labels = node.metadata.labels
    region = next((labels[key] for key in _REGIONS if key in labels), "")
    zone = next((labels[key] for key in _ZONES if key in labels), "")
    return f"{region}:\x00:{zone}" if region or zone else ""


def zone_state(ready: int, not_ready: int) -> ZoneState:
    """Source: ComputeZoneState."""
    if not ready and not_ready:
        return "FullDisruption"
    # A zone with one or two unready nodes counts as normal, whatever its size.
    if not_ready > 2 and not_ready / (ready + not_ready) >= UNHEALTHY_ZONE_THRESHOLD:
        return "PartialDisruption"
    return "Normal"


def eviction_rate(state: ZoneState, nodes: int) -> float:
    """Return the nodes per second that may be tainted in a zone.

    Source: setLimiterInZone, HealthyQPSFunc, ReducedQPSFunc.
    """
    if state == "PartialDisruption":
        return SECONDARY_EVICTION_RATE if nodes > LARGE_CLUSTER_SIZE else 0.0
    return EVICTION_RATE


@dataclass
class Limiter:
    """A token bucket of one token; at rate 0 it accepts nothing.

    Attributes:
        rate: the tokens per second.
        tokens: the number of tokens at `at`, 0 to 1.
        at: the time of the last update, in seconds.
    """

    rate: float = EVICTION_RATE
    tokens: float = 1.0
    at: float = 0.0

    def try_accept(self, now: float) -> bool:
        """Take a token and return whether there was one."""
        self._fill(now)
        if not self.rate or self.tokens < 1:
            return False
        self.tokens -= 1
        return True

    def wait(self, now: float) -> float:
        """Return the seconds until the next token; infinite at rate 0."""
        self._fill(now)
        return max(0.0, 1 - self.tokens) / self.rate if self.rate else float("inf")

    def swap(self, rate: float, now: float) -> None:
        """Change the rate; an empty bucket stays empty. Source: RateLimitedTimedQueue.SwapLimiter."""
        if rate != self.rate:
            self.tokens, self.at, self.rate = (0.0 if not self.try_accept(now) else 1.0), now, rate

    def _fill(self, now: float) -> None:
        grown = self.tokens + (now - self.at) * self.rate
        self.tokens, self.at = (1.0 if grown > 1 - _TINY else grown), now


@dataclass
class Zone:
    """One zone.

    Attributes:
        state: the last computed state.
        limiter: the limiter of NoExecute taints.
        waiting: the names of nodes that wait for the taint, in order.
    """

    state: ZoneState = "Initial"
    limiter: Limiter = field(default_factory=Limiter)
    waiting: dict[str, None] = field(default_factory=dict)


class Zones:
    """All zones of a cluster, with the readiness of their nodes.

    Attributes:
        zones: the zones by key.
        suspended: whether no zone has a ready node, so that no node is tainted.
    """

    def __init__(self) -> None:
        self.zones: dict[str, Zone] = {}
        self.suspended = False
        self._nodes: dict[str, tuple[str, bool, bool]] = {}
        self._counts: Counter[tuple[str, bool, bool]] = Counter()

    def put(self, node: Node, ready: bool, now: float) -> bool:
        """Record a node's zone and readiness; return whether they have changed."""
        seen = zone_of(node), ready, EXCLUDED not in node.metadata.labels
        before = self._nodes.get(node.name)
        if before == seen:
            return False
        if before is not None:
            self._counts[before] -= 1
            if before[0] != seen[0]:
                self.cancel(node.name)
        self._nodes[node.name] = seen
        self._counts[seen] += 1
        self.zones.setdefault(seen[0], Zone(limiter=Limiter(at=now)))
        return True

    def drop(self, name: str) -> None:
        """Forget a deleted node."""
        before = self._nodes.pop(name, None)
        if before is not None:
            self._counts[before] -= 1
            self.zones[before[0]].waiting.pop(name, None)

    def request(self, name: str) -> None:
        """Queue a node for its NoExecute taint."""
        self.zones[self._nodes[name][0]].waiting.setdefault(name)

    def cancel(self, name: str) -> None:
        """Remove a node from the queue for its NoExecute taint."""
        if name in self._nodes:
            self.zones[self._nodes[name][0]].waiting.pop(name, None)

    def names(self) -> list[str]:
        """Return the names of all nodes."""
        return list(self._nodes)

    def assess(self, now: float) -> None:
        """Update the states and rates of zones.

        If no zone has a ready node, the network or the control plane has failed, and no node is tainted.

        Source: handleDisruption.
        """
        states: dict[str, ZoneState] = {}
        for key in list(self.zones):
            ready, not_ready = self._counts[key, True, True], self._counts[key, False, True]
            if ready + not_ready:
                states[key] = zone_state(ready, not_ready)
            elif not self._counts[key, True, False] + self._counts[key, False, False]:
                del self.zones[key]
        everywhere = bool(states) and all(state == "FullDisruption" for state in states.values())
        for key, state in states.items():
            zone = self.zones[key]
            if everywhere:
                zone.limiter.swap(0.0, now)
                zone.waiting.clear()
            elif self.suspended or zone.state != state:
                nodes = self._counts[key, True, True] + self._counts[key, False, True]
                zone.limiter.swap(eviction_rate(state, nodes), now)
            zone.state = state
        self.suspended = everywhere
