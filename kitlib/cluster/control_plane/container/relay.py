"""The owner's side of a control plane's stream, which passes lines between nodes and control plane.

A node's link takes the answers to this process's own requests (files, watches, processes, logs). Reports and answers to
the control plane's requests are passed on unread. A node that the control plane requests is started on its own thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.cluster.control_plane.container import wire
from kitlib.cluster.nodes.container import container_node_config, free_number, start_kubelet
from kitlib.cluster.nodes.handle import NodeFacts
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.cluster.nodes.provisioner import LinkedHandle, Provisioner
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.node.real import protocol
from kitlib.node.real.link import Link, NodeGone


class ControlPlaneGone(NodeGone):
    """An error because the control plane's container has ended or no longer answers."""


class NodeLink(Link):
    """A link to a node that the control plane uses too.

    Args:
        name: the node's name.
        stream: the stream, as for `Link`.
        pass_on: called with the node's name and the lines for the control plane.
        gone: called when the node has ended.
    """

    def __init__(
        self, name: str, stream: Any, pass_on: Callable[[str, list[bytes]], None], gone: Callable[[Link], None]
    ) -> None:
        self._pass_on, self._gone_to = pass_on, gone
        self._foreign: list[bytes] = []
        super().__init__(name, stream)

    def _hear(self, message: dict[str, Any], line: bytes) -> None:
        own = "watch" in message or "stream" in message
        if "report" in message or (not own and message["id"] >= wire.FAR):
            self._foreign.append(line)
        else:
            super()._hear(message, line)

    def _taken(self) -> None:
        if self._foreign:
            self._pass_on(self.name, self._foreign)
            self._foreign = []

    def _over(self) -> None:
        super()._over()
        self._gone_to(self)


class ControlLink(Link):
    """The link to the control plane.

    Args:
        name: the control plane's name.
        stream: the stream, as for `Link`.
        relay: called with each line that is not an answer.
    """

    ended = ControlPlaneGone
    remedy = "close this cluster; replay(cluster.journal) on a new cluster repeats your actions"
    max_line = wire.MAX_LINE

    def __init__(self, name: str, stream: Any, relay: Relay) -> None:
        self._relay = relay
        super().__init__(name, stream)
        self.whom = "the control plane"

    def request(self, do: str, timeout: float, **about: Any) -> tuple[Any, Mapping[str, Any]]:
        """Send a request and wait for its answer.

        Returns:
            The answer, or the error to raise; and the whole message, which has the changes since the last answer.

        Raises:
            ControlPlaneGone: the control plane does not answer in time.
        """
        message = self.message(self.send(do, **about), timeout)
        failed = message.get("error")
        if failed is not None:
            if "module" not in failed:  # an agent of an old image, without a control plane, answers
                return protocol.error_from_data(failed, self.name), message
            return wire.error_from_data(failed), message
        return message.get("ok"), message

    def _sort(self, line: bytes) -> None:
        head = wire.passed(line)
        if head.to:
            self._relay.to_node(head.to, bytes(head.line))
        elif head.start:
            self._relay.start(head.start, head.plan)
        elif head.end:
            self._relay.end(head.end)
        else:
            message = protocol.decode(line, wire.MAX_LINE)
            wire.check_answer(message)
            self._hear(message, line)


class Relay:
    """The owner of the streams.

    Args:
        starter: starts containers.
        release: the release of the kubelets.

    Attributes:
        begun: plan, configuration, container and notes on differences from the plan, by node.
        facts: the facts that a node sent when its kubelet was started, by node.
        control: the control plane's container; None before `open`.
    """

    def __init__(self, starter: Provisioner, release: Release) -> None:
        self._provisioner, self._release = starter, release
        self.begun: dict[str, tuple[NodePlan, NodeConfig, LinkedHandle, list[str]]] = {}
        self.facts: dict[str, NodeFacts] = {}
        self.control: LinkedHandle | None = None
        self.link: ControlLink | None = None

    def open(self) -> None:
        """Start the control plane's container."""
        self.control = self._provisioner.begin_control(self._hold)

    def _hold(self, name: str, stream: Any) -> ControlLink:
        self.link = ControlLink(name, stream, self)
        return self.link

    def begin(self, node_plan: NodePlan, number: int) -> None:
        """Start a node's container and its kubelet, which needs no control plane yet."""
        config = container_node_config(node_plan, self._release)
        made, notes = self._provisioner.begin(node_plan, config, number, self._link)
        self.facts[node_plan.name] = start_kubelet(made.link, config, number)
        self.begun[node_plan.name] = node_plan, config, made, notes
        # The node may have ended before it was in `begun`; then its own report was ignored.
        if not made.link.alive:
            self._node_gone(made.link)

    def _link(self, name: str, stream: Any) -> NodeLink:
        return NodeLink(name, stream, self._from_node, self._node_gone)

    # The following methods run on the threads of readers.

    def _from_node(self, name: str, lines: list[bytes]) -> None:
        self._tell(b"".join(wire.envelope("from", name, line) for line in lines))

    def _node_gone(self, link: Link) -> None:
        begun = self.begun.get(link.name)
        if begun is not None and begun[2].link is link:  # not an attempt that the engine rejected
            self._tell(protocol.encode({"gone": link.name, "said": list(link.errors)}))

    def _tell(self, line: bytes) -> None:
        if self.link is not None:
            with suppress(OSError):  # the next call reports a control plane that has ended
                self.link.write(line)

    def to_node(self, name: str, line: bytes) -> None:
        """Pass a line on to a node; the node's own link reports its end."""
        begun = self.begun.get(name)
        if begun is not None:
            with suppress(OSError):
                begun[2].link.write(line + b"\n")

    def start(self, number: int, plan: str) -> None:
        """Start a node that the control plane requests."""
        # Not on the reader's thread: the new node's answers and other lines must be read meanwhile.
        threading.Thread(target=self._start, args=(number, plan), name="kitlib-start", daemon=True).start()

    def _start(self, number: int, plan: str) -> None:
        answer: dict[str, Any] = {"started": number}
        try:
            one = wire.unpack(plan)
            if not isinstance(one, NodePlan):
                raise KitError(f"plan: must be a NodePlan, got {type(one).__name__}")
            self.begin(one, free_number(self.facts[name] for name in self.begun))
            answer["facts"] = self.facts[one.name]
        except Exception as error:
            answer["error"] = wire.error_to_data(error)
        self._tell(protocol.encode(answer))

    def end(self, name: str) -> None:
        """End a node that the control plane no longer needs."""
        begun = self.begun.pop(name, None)
        if begun is not None:
            threading.Thread(target=begun[2].close, name="kitlib-end", daemon=True).start()
