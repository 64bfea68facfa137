"""The program in the control plane's container: store, admission, controllers and scheduler behind one stream.

One thread only reads and sorts: lines of nodes go to their channels, requests into a queue. The other thread does
everything else: it answers requests one by one and, in between, runs controllers and scheduler on the nodes' reports.
"""

from __future__ import annotations

import gc
import itertools
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, cast

import msgspec

from kitlib.api.convert import convert
from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject
from kitlib.api.serialize import Located, from_dict, to_dict
from kitlib.apiserver.admission.attributes import Deletion
from kitlib.apiserver.admission.requester import requested_by
from kitlib.apiserver.store.store import ResourceExpired
from kitlib.cluster.control_plane.container import wire
from kitlib.cluster.control_plane.container.channel import Channel, RemoteHandle
from kitlib.cluster.control_plane.options import ClusterOptions
from kitlib.cluster.control_plane.real_clock import RealClock
from kitlib.cluster.control_plane.realtime import RealTimeCluster
from kitlib.cluster.nodes.container import ContainerNode, container_node_config
from kitlib.cluster.nodes.handle import NodeFacts
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.node.real import protocol
from kitlib.node.real.link import Lines

LOOK = 0.25
"""The interval in seconds at which controllers and scheduler run if nothing is reported."""
START = 120.0
"""The maximum time in seconds for the owner to start one node."""
_CHUNK = 1 << 16
_METHODS = ("patch", "patch_status", "resize", "delete", "evict", "bind", "settle", "scale", "cordon")
_API = ("create", "update", "update_status", "resize", "update_ephemeral_containers")


class ControlledCluster(RealTimeCluster):
    """The cluster of a control plane whose nodes belong to the owner's process; it begins without nodes.

    Args:
        plane: the control plane, which requests nodes from the owner.
        clock: the control plane's clock.
        settings: the arguments of `ClusterOptions.of` without nodes.
    """

    def __init__(self, plane: ControlPlane, clock: RealClock, settings: Mapping[str, Any]) -> None:
        self._plane = plane
        self._facts: dict[str, NodeFacts] = {}
        super().__init__(ClusterOptions.of(0, **settings), clock)

    def join(self, plans: Sequence[NodePlan], facts: Mapping[str, NodeFacts]) -> None:
        """Add nodes.

        Args:
            plans: the plans of the nodes.
            facts: the facts, by name, of nodes whose kubelets run already; the other nodes are started.
        """
        self._facts = dict(facts)
        self.add_nodes(plans)

    def _make_node(self, node_plan: NodePlan) -> ContainerNode:
        config = container_node_config(node_plan, self.release)
        facts = self._facts.pop(node_plan.name, None) or self._plane.start(node_plan)
        return ContainerNode(
            node_plan,
            config,
            RemoteHandle(self._plane.channel(node_plan.name), self._plane.end),
            self.record_action,
            facts=facts,
        )

    def facts(self, known: set[str]) -> dict[str, NodeFacts]:
        """Return, by name, the facts that nodes sent at their start, without the known nodes."""
        return {name: node.facts for name, node in self._nodes.items() if name not in known}


class ChangeReader:
    """The reader of the changes at the other end of the stream.

    Attributes:
        seen: the version of the store that the reader has.
    """

    def __init__(self) -> None:
        self.seen = 0


class ControlPlane:
    """A control plane that serves one cluster.

    Args:
        reads: the file descriptor of the owner's lines.
        writes: the file descriptor for the answers.
    """

    def __init__(self, reads: int, writes: int) -> None:
        self._reads, self._writes = reads, writes
        self._lock = threading.Lock()
        self._inbox: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._reported, self._ended, self._loads = threading.Event(), False, False
        self._channels: dict[str, Channel] = {}
        self._starts: dict[int, queue.SimpleQueue[wire.NodeStarted]] = {}
        self._numbers = itertools.count(1)
        self._owner, self._taken = ChangeReader(), 0
        self._cluster: ControlledCluster | None = None
        self._clock = RealClock()  # follows the owner's clock, so that records of both have one order
        self._does: dict[str, Callable[..., Any]] = {
            "begin": self._begin,
            "changes": lambda: None,
            "apply": self._apply,
            "call": self._call,
            "api": self._api,
            "api_delete": self._api_delete,
            "enable_service_accounts": self._enable_service_accounts,
            "add_nodes": self._add_nodes,
            "decision": lambda name, namespace: wire.pack(self._standing.decision(name, namespace)),
            "explain": self._explain,
            "record_event": self._record_event,
        }

    # Lines of the owner.

    def write(self, line: bytes) -> None:
        """Send one line to the owner."""
        with self._lock:
            protocol.write(self._writes, line)

    def _read(self) -> None:
        """Read lines on the reader's thread until the owner closes the stream."""
        lines = Lines(wire.MAX_LINE)
        try:
            while piece := os.read(self._reads, _CHUNK):
                for line in lines.feed(piece):
                    try:
                        self._sort(line)
                    except Exception as error:  # an invalid line must not end the reader
                        log_error(error)
        finally:
            self._ended = True
            self._inbox.put(None)

    def _sort(self, line: bytes) -> None:
        head = wire.passed(line)
        if head.sender:
            if self.channel(head.sender).take(bytes(head.line)):
                self._wake()
            return
        if head.gone:
            self.channel(head.gone).over(wire.said(head))
            self._wake()
        elif head.started:
            waiting = self._starts.get(head.started)
            if waiting is not None:
                waiting.put(wire.started(line))
        else:
            self._inbox.put(protocol.decode(line, wire.MAX_LINE))

    def _wake(self) -> None:
        # Many reports cause one wake-up; `_look` clears the flag before it reads them.
        if not self._reported.is_set():
            self._reported.set()
            self._inbox.put(None)

    # Nodes.

    def channel(self, name: str) -> Channel:
        """Return the connection to a node."""
        found = self._channels.get(name)
        if found is None:
            found = self._channels.setdefault(name, Channel(name, self.write))
        return found

    def start(self, node_plan: NodePlan) -> NodeFacts:
        """Make the owner start a node.

        Returns:
            The facts that the node sent.

        Raises:
            KitError: the node does not start.
        """
        number = next(self._numbers)
        self._starts[number] = queue.SimpleQueue()
        # A node of the same name that has ended must not receive lines for the new one.
        self._channels.pop(node_plan.name, None)
        self.write(protocol.encode({"start": number, "plan": wire.pack(node_plan)}))
        try:
            answer = self._starts[number].get(timeout=START)
        except queue.Empty:
            raise KitError(f"node {node_plan.name}: did not start within {START:g} s") from None
        finally:
            del self._starts[number]
        if answer.error is not None or answer.facts is None:
            raise wire.error_from_data(answer.error or {"message": "the owner said nothing of the node"})
        return cast(NodeFacts, msgspec.structs.asdict(answer.facts))

    def end(self, name: str) -> None:
        """Make the owner end a node."""
        self.write(protocol.encode({"end": name}))

    # Serving.

    def run(self) -> int:
        """Serve until the owner closes the stream."""
        threading.Thread(target=self._read, name="reader", daemon=True).start()
        next_look = 0.0
        while not self._ended:
            try:
                asked = self._inbox.get(timeout=max(0.0, next_look - time.monotonic()))
            except queue.Empty:
                asked = None
            if asked is not None:
                self._answer(asked)
                if self._loads:
                    self._load()
            if asked is None or time.monotonic() >= next_look:  # also during a stream of requests without a pause
                self._look()
                next_look = time.monotonic() + LOOK
        return 0

    def _load(self) -> None:
        """Load what the first pod will need, while the owner handles its answer."""
        self._loads = False
        self._standing.load()
        gc.freeze()  # full collections skip the loaded modules and do not delay requests

    def _look(self) -> None:
        """Run controllers and scheduler; an error is logged, and the next call tries again."""
        self._reported.clear()
        if self._cluster is not None and not self._ended:
            try:
                self._cluster.run_for(0)
            except Exception as error:  # an error must not end the control plane
                log_error(error)

    def _answer(self, asked: dict[str, Any]) -> None:
        head = wire.ControlPlaneRequest()
        try:
            head = wire.request(asked)
            self._clock.follow(head.at)
            if head.do not in self._does:
                raise KitError(
                    f"unsupported request {head.do!r} to the control plane; valid values: "
                    f"{', '.join(sorted(self._does))}"
                )
            if self._cluster is not None:
                self._cluster.refresh()
            with requested_by(head.requester):
                answer: dict[str, Any] = {"id": head.id, "ok": self._does[head.do](**asked)}
        except Exception as error:  # the owner gets every error, and the control plane continues
            answer = {"id": head.id, "error": wire.error_to_data(error)}
        try:
            if self._cluster is not None:
                answer |= self._news(head.since, set(head.known), head.journal)
            line = protocol.encode(answer)
        except (TypeError, ValueError, KitError) as error:
            line = protocol.encode({"id": head.id, "error": wire.error_to_data(error)})
        self.write(line)

    def _news(self, since: int, known: set[str], seen: int) -> dict[str, Any]:
        """Return the changes since the owner's last request.

        Args:
            since: the version of the owner's copy of the store.
            known: the nodes with facts that the owner has.
            seen: the number of journal entries that the owner has.
        """
        cluster = self._standing
        store = cluster.api.store
        store.bring_up_to_date()
        self._owner.seen = since
        taken = max(0, seen - self._taken)
        del cluster.journal[:taken]  # the owner keeps the journal
        self._taken += taken
        delta: dict[str, Any] = {
            "version": store.version,
            "nodes": cluster.facts(known),
            "journal": list(cluster.journal),
        }
        try:
            delta["changes"] = [[event.type, to_dict(event.object)] for event in store.changes(since)]
        except ResourceExpired:
            delta["objects"] = [one for kind in cluster.snapshot().values() for one in kind]
        return delta

    @property
    def _standing(self) -> ControlledCluster:
        if self._cluster is None:
            raise KitError("the control plane has not been started")
        return self._cluster

    # Requests.

    def _begin(self, version: int, settings: str) -> None:
        if version != wire.VERSION:
            raise KitError(
                f"the node image uses version {wire.VERSION} of the protocol, kitlib uses {version}: rebuild the image "
                "with kitlib image build"
            )
        if self._cluster is not None:
            raise KitError("this control plane has been started already")
        self._cluster = ControlledCluster(self, self._clock, wire.unpack(settings))
        self._cluster.api.store.readers.add(self._owner)

    def _apply(self, action: str, objects: Sequence[Any], create_only: bool) -> list[Any]:
        located = [Located(from_dict(data), file, document) for data, file, document in objects]
        return [to_dict(made) for made in self._standing.apply_located(action, located, create_only)]

    def _call(self, method: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        if method not in _METHODS:
            raise KitError(f"unsupported method {method!r}; valid values: {', '.join(_METHODS)}")
        found = getattr(self._standing, method)(*arguments, **named)
        return to_dict(found) if isinstance(found, KubeObject) else None

    def _api_delete(
        self,
        kind: str,
        name: str,
        namespace: str,
        grace: int | None,
        propagation: str,
        dry_run: bool,
        request: Mapping[str, Any],
    ) -> Any:
        api, asked = self._standing.api, convert(request, Deletion)
        with api.dry_run() if dry_run else nullcontext():
            api.delete(kind, name, namespace, grace=grace, propagation=propagation, request=asked)
        return {"warnings": list(api.warnings)}

    def _api(self, method: str, object: Mapping[str, Any], dry_run: bool = False, subresource: str = "") -> Any:
        if method not in _API:
            raise KitError(f"unsupported method {method!r}; valid values: {', '.join(_API)}")
        api = self._standing.api
        with api.dry_run() if dry_run else nullcontext():
            named = {"subresource": subresource} if subresource else {}
            stored = to_dict(getattr(api, method)(from_dict(dict(object)), **named))
        return {"object": stored, "warnings": list(api.warnings)}

    def _enable_service_accounts(self, key: str, authority: str) -> None:
        self._standing.api.enable_service_accounts(key, authority)

    def _add_nodes(self, plans: str, facts: Mapping[str, NodeFacts]) -> None:
        self._standing.join(wire.unpack(plans), facts)
        self._loads = True

    def _explain(self, pod: Any, namespace: str) -> str:
        wanted = pod if isinstance(pod, str) else from_dict(pod, Pod)
        return wire.pack(self._standing.explain(wanted, namespace))

    def _record_event(self, about: Mapping[str, Any], reason: str, message: str, warning: bool) -> None:
        self._standing.record_event(from_dict(dict(about)), reason, message, warning=warning)


def log_error(error: Exception) -> None:
    """Log an error, with a traceback for a defect of the kit."""
    if isinstance(error, KitError | OSError):
        text = f"{type(error).__name__}: {error}\n"[:500]
    else:
        text = "".join(traceback.format_exception(error))[-4000:]
    sys.stderr.write(text)
    sys.stderr.flush()


def main() -> int:
    """Serve the owner over standard input and output; prints go to standard error."""
    # A stray print would corrupt the stream of answers, so file descriptor 1 becomes standard error.
    writes = os.dup(1)
    os.dup2(2, 1)
    return ControlPlane(0, writes).run()


if __name__ == "__main__":
    sys.exit(main())
