"""exec and attach over a WebSocket: the channels of `v5.channel.k8s.io`.

Each binary message begins with its channel: 0 standard input, 1 standard output, 2 standard error, 3 the final Status,
4 the terminal's size, 255 the end of a channel.

Source: apimachinery pkg/util/remotecommand/constants.go, KEP-4006.
"""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from typing import Any, Protocol

from tornado.websocket import WebSocketHandler

from kitlib.api.errors import KitError
from kitlib.apiserver.dispatcher import Dispatcher
from kitlib.apiserver.request import parse_path
from kitlib.apiserver.status import StatusError, success
from kitlib.cluster.nodes.simulated import SimulatedNode
from kitlib.cluster.nodes.simulated_exec import PROMPT, ContainerShell, Result

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
PATH = r"^/api/v1/namespaces/[^/]+/pods/[^/]+/(?:exec|attach|portforward)$"


class Service(Protocol):
    """The running API server, as streams need it.

    Attributes:
        lock: held while the cluster is used.
        cluster: what is served.
        dispatcher: answers requests.
    """

    lock: AbstractContextManager[Any]
    cluster: Any
    dispatcher: Dispatcher

    def knows(self, authorization: str) -> bool:
        """Whether a request carries the bearer token."""
        ...


def exit_status(code: int) -> dict[str, Any]:
    """The Status that ends a stream. Source: client-go remotecommand errorDecoderV4."""
    if code == 0:
        return success()
    details = {"causes": [{"reason": "ExitCode", "message": str(code)}]}
    message = f"command terminated with non-zero exit code: error executing command, exit code {code}"
    return {**StatusError(0, message, "NonZeroExitCode", details).body(), "code": 0}


class StreamHandler(WebSocketHandler):
    """One exec or attach."""

    def initialize(self, service: Service) -> None:
        self._service = service
        self._shell: ContainerShell | None = None
        self._input = ""
        self._tty = False

    def prepare(self) -> None:
        if not self._service.knows(self.request.headers.get("Authorization", "")):
            self._refuse(StatusError(401, "Unauthorized"))
            return
        if self.request.path.endswith("/portforward"):
            why = "port-forward: the kit's pods have no network to forward to; use kubectl exec"
            self._refuse(StatusError(501, why, "NotImplemented"))
            return
        if self.request.headers.get("Upgrade", "").lower() != "websocket":
            why = "an upgrade to a WebSocket is required (SPDY is not spoken here)"
            self._refuse(StatusError(400, why))
            return
        try:
            with self._service.lock:
                self._open_shell()
        except StatusError as error:
            self._refuse(error)
        except KitError as error:
            self._refuse(StatusError(400, str(error)))

    def check_origin(self, origin: str) -> bool:
        """The token is what protects: a web page does not have it."""
        return True

    def select_subprotocol(self, subprotocols: list[str]) -> str | None:
        return next((one for one in PROTOCOLS if one in subprotocols), None)

    def _refuse(self, error: StatusError) -> None:
        self.set_status(error.code)
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(error.body()))

    def _open_shell(self) -> None:
        """Find the container.

        Raises:
            StatusError: where the pod or container is not there or does not run.
        """
        rest, target = self._service.dispatcher.rest, parse_path(self.request.path)
        served = rest.resources.find("", "v1", "pods")
        assert target is not None and served is not None
        pod = rest.get(served, target.namespace, target.name)
        names = [c["name"] for field in ("containers", "initContainers") for c in pod["spec"].get(field) or ()]
        container = self.get_query_argument("container", names[0])
        if container not in names:
            raise StatusError(400, f"container {container} is not valid for pod {target.name}")
        if not pod["spec"].get("nodeName"):
            raise StatusError(400, f"pod {target.name} does not have a host assigned")
        machine = self._service.cluster.node(pod["spec"]["nodeName"])
        if not isinstance(machine, SimulatedNode):
            why = "exec: only containers of simulated nodes can be entered over the API"
            raise StatusError(501, why, "NotImplemented")
        machine.proc(target.name, container, target.namespace)  # raises where it does not run
        self._shell = ContainerShell(machine, target.namespace, target.name, container)

    def open(self, *_: str, **__: str) -> None:
        self._tty = self.get_query_argument("tty", "false") == "true"
        command = self.get_query_arguments("command")
        if self.request.path.endswith("/attach"):
            self._end(Result("", "attach: a simulated container has no terminal\n", 1))
            return
        assert self._shell is not None
        interactive = self.get_query_argument("stdin", "false") == "true" and len(command) == 1
        if interactive and command[0].rpartition("/")[2] in ("sh", "bash", "ash"):
            if self._tty:
                self._send(STDOUT, PROMPT)
            return
        with self._service.lock:
            result = self._shell.run(command)
        self._end(result)

    def on_message(self, message: str | bytes) -> None:
        data = message.encode() if isinstance(message, str) else message
        if not data or self._shell is None:
            return
        if data[0] == CLOSE and data[1:2] == bytes([STDIN]):
            self._end(Result("", "", 0))
        elif data[0] == STDIN:
            self._type(data[1:].decode("utf-8", "replace"))

    def _type(self, text: str) -> None:
        assert self._shell is not None
        if "\x04" in text and self._tty:
            self._end(Result("", "", 0))
            return
        if self._tty:
            self._send(STDOUT, text.replace("\r", "\r\n"))
        self._input = (self._input + text.replace("\r", "\n"))[-65536:]
        while "\n" in self._input:
            line, _, self._input = self._input.partition("\n")
            if line.strip().split(" ")[0] == "exit":
                self._end(self._shell.line(line))
                return
            with self._service.lock:
                result = self._shell.line(line)
            self._send(STDOUT, result.stdout)
            self._send(STDOUT if self._tty else STDERR, result.stderr)
            if self._tty:
                self._send(STDOUT, PROMPT)

    def _send(self, channel: int, text: str) -> None:
        if text:
            shown = text.replace("\r\n", "\n").replace("\n", "\r\n") if self._tty else text
            self.write_message(bytes([channel]) + shown.encode(), binary=True)

    def _end(self, result: Result) -> None:
        self._send(STDOUT, result.stdout)
        self._send(STDOUT if self._tty else STDERR, result.stderr)
        self.write_message(bytes([ERROR]) + json.dumps(exit_status(result.code)).encode(), binary=True)
        self._shell = None
        self.close(1000)
