"""Messages between the control plane and its owner, on top of the lines that nodes use (`node.real.protocol`).

Objects are sent as plain data. Plans of nodes, settings, decisions of the scheduler and errors are encoded by `codec`
as data of a closed set of types, so that no message can run code.

    owner -> control   {"id": 7, "do": "call", …}          a request
                       {"from": "node-1", "line": …}       a node's line, as the node wrote it
                       {"gone": "node-1", "said": […]}     the node has ended
                       {"started": 3, …}                   the answer to {"start": 3}
    control -> owner   {"id": 7, "ok": …} or {"id": 7, "error": …}
                       {"to": "node-1", "line": …}         a line for a node
                       {"start": 3, "plan": …}             a node is wanted
                       {"end": "node-1"}                   a node is to end
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from kitlib.api.convert import convert
from kitlib.api.errors import KitError
from kitlib.apiserver.admission.requester import ADMINISTRATOR, Requester
from kitlib.cluster.control_plane.container.codec import decode as unpack
from kitlib.cluster.control_plane.container.codec import encode as pack
from kitlib.node.real import protocol

__all__ = ["FAR", "VERSION", "Passed", "envelope", "error_from_data", "error_to_data", "pack", "passed", "unpack"]

T = TypeVar("T")
VERSION = 9
"""The version of the messages; with it, a control plane of an old image is rejected instead of failing later."""
FAR = 1 << 40
"""The lowest number of the control plane's requests to a node; the owner's requests have lower numbers."""
MAX_LINE = 256 << 20
"""The maximum length of the control plane's lines in bytes; one answer may have all objects of a cluster."""


class ControlPlaneRequest(msgspec.Struct, frozen=True):
    """The common part of all requests: number, kind, and the state of the owner's copy.

    Attributes:
        id, do: the number and the kind of the request.
        at: the time of the owner's clock, in seconds.
        since: the version of the owner's copy of the store.
        known: the nodes with facts that the owner has.
        journal: the number of journal entries that the owner has.
        requester: the user of the request.
    """

    id: int = 0
    do: str = ""
    at: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 0.0
    since: Annotated[int, msgspec.Meta(ge=0)] = 0
    known: list[str] = []
    journal: Annotated[int, msgspec.Meta(ge=0)] = 0
    requester: Requester = ADMINISTRATOR


class NodeStarted(msgspec.Struct):
    """The owner's answer to a request for a node: the node's facts, or an error."""

    facts: protocol.AgentFacts | None = None
    error: dict[str, Any] | None = None


class ControlPlaneResponse(msgspec.Struct, frozen=True):
    """The control plane's answer to a request, with the changes since the last one."""

    id: int
    ok: Any = None
    error: dict[str, Any] | None = None
    version: int = 0
    nodes: dict[str, protocol.AgentFacts] = {}
    journal: list[dict[str, Any]] = []
    changes: list[tuple[Literal["ADDED", "MODIFIED", "DELETED"], dict[str, Any]]] = []
    objects: list[dict[str, Any]] | None = None


class Passed(msgspec.Struct):
    """The fields that route a line; the line itself is not decoded."""

    to: str = ""
    sender: str = msgspec.field(name="from", default="")
    line: msgspec.Raw = msgspec.Raw(b"")
    start: int = 0
    plan: str = ""
    end: str = ""
    gone: str = ""
    said: msgspec.Raw = msgspec.Raw(b"[]")
    started: int = 0


_passed = msgspec.json.Decoder(Passed)
_started = msgspec.json.Decoder(NodeStarted)
_said = msgspec.json.Decoder(list[str])


def passed(line: bytes) -> Passed:
    """Decode the routing fields of a line.

    Raises:
        KitError: the line is not a message.
    """
    protocol.check_bounds(line, MAX_LINE)
    return _decoded(_passed, line)


def request(asked: dict[str, Any]) -> ControlPlaneRequest:
    """Remove the common part from a request and return it; the arguments of its kind remain.

    Raises:
        KitError: the request does not fit the schema.
    """
    head = {name: asked.pop(name) for name in ControlPlaneRequest.__struct_fields__ if name in asked}
    try:
        return convert(head, ControlPlaneRequest)
    except (msgspec.ValidationError, RecursionError) as error:
        raise KitError(f"invalid request to the control plane: {error}") from None


def check_answer(message: Mapping[str, Any]) -> None:
    """Check an answer of the control plane against its schema.

    Raises:
        KitError: the answer does not fit.
    """
    try:
        convert(message, ControlPlaneResponse)
    except (msgspec.ValidationError, RecursionError) as error:
        raise KitError(f"invalid response from the control plane: {error}") from None


def started(line: bytes) -> NodeStarted:
    """Decode the answer to a request for a node; raises KitError for a line that does not fit."""
    return _decoded(_started, line)


def said(head: Passed) -> list[str]:
    """Decode the last error output of a node that has ended; raises KitError where it does not fit."""
    return _decoded(_said, head.said)


def _decoded(decoder: msgspec.json.Decoder[T], line: bytes | msgspec.Raw) -> T:
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise KitError(f"invalid message between kitlib and the control plane: {bytes(line)[:80]!r}: {error}") from None


def envelope(key: str, name: str, line: bytes) -> bytes:
    """Return a node's line in an envelope with the node's name; `key` is "to" or "from"."""
    return msgspec.json.encode({key: name, "line": msgspec.Raw(line)}) + b"\n"


def error_to_data(error: BaseException) -> dict[str, Any]:
    """Encode an error so that the other side can raise one of the same type."""
    kind = type(error)
    data = {"kind": kind.__name__, "module": kind.__module__, "message": str(error), "args": pack(())}
    try:
        data["args"] = pack((error.args, vars(error)))
    except KitError:  # its arguments cannot be sent; its text can
        data["args"] = pack(((str(error),), {}))
    return data


def error_from_data(data: Mapping[str, Any]) -> Exception:
    """Decode an error; types that belong neither to the kit nor to Python become a KitError.

    Types are looked up only in modules that are loaded already, so that no message can load a module.
    """
    module, name, message = (str(data.get(key, "")) for key in ("module", "kind", "message"))
    kind: Any = None
    if module == "builtins":
        kind = getattr(builtins, name, None)
    elif module.startswith("kitlib."):
        # sys.modules and not import_module: a message must not load code
        kind = getattr(sys.modules.get(module), name, None)
    ours = isinstance(kind, type) and (
        issubclass(kind, KitError) or (module == "builtins" and issubclass(kind, Exception))
    )
    try:
        arguments, fields = unpack(data.get("args", ""))
        if ours:
            made: Exception = kind.__new__(kind)
            made.args = tuple(arguments)
            made.__dict__.update(fields)
            str(made)
            return made
    except (KitError, TypeError, ValueError):
        pass
    return KitError(f"the control plane could not do it: {name}: {message}")
