"""What a node and its owner say to each other: one JSON object a line, over the container's standard streams.

The owner asks `{"id": 7, "do": "read", …}`, the node answers `{"id": 7, "ok": …}` or `{"id": 7, "error": …}`. Without
being asked the node reports: `{"report": "status", …}` for what its kubelet tells the API server, `{"watch": 3, …}` for
the samples of a watch, `{"report": "busy"}` while a request takes long. Nothing else may be written to the node's
standard output.

A node that hostile pods have taken over may say anything. Every line is bounded in size and depth, every message and
every answer fits a schema; what does not is refused, and who goes on like that loses the connection (`link`).
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, Literal

import msgspec

from kitlib.api.convert import convert
from kitlib.api.errors import KitError, NotFound
from kitlib.api.meta import Condition
from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupFile, CgroupTree, Reason, Version
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.node.common.errors import CgroupError

VERSION = 5
"""Counted up when the messages change: a node of an old image says so instead of failing later."""

MAX_LINE = 64 << 20
"""Bytes of a line: the tree of a node with 250 pods takes 5 MB."""
MAX_DEPTH = 60
"""Levels of a message: a Pod has at most 15 of its own."""


class EventReport(msgspec.Struct, frozen=True, tag_field="report", tag="event"):
    """An event about a pod (namespace, name, UID), a part of it, or the node ([])."""

    kind: Literal["Normal", "Warning"]
    reason: str
    message: str
    pod: list[str] = []
    field: str = ""


class StatusReport(msgspec.Struct, frozen=True, tag_field="report", tag="status"):
    pod: tuple[str, str, str]
    status: dict[str, Any]


class Gone(msgspec.Struct, frozen=True, tag_field="report", tag="gone"):
    pod: tuple[str, str, str]


class NodeCondition(msgspec.Struct, frozen=True, tag_field="report", tag="condition"):
    condition: dict[str, Any]


class Busy(msgspec.Struct, frozen=True, tag_field="report", tag="busy"):
    """A request takes long."""


class LeaseRenewal(msgspec.Struct, frozen=True, tag_field="report", tag="lease"):
    """The kubelet renews its Lease."""


Report = EventReport | StatusReport | Gone | NodeCondition | Busy | LeaseRenewal


class WatchSample(msgspec.Struct, frozen=True):
    watch: int
    at: float
    values: list[str | None]


class StreamMessage(msgspec.Struct, frozen=True):
    """Of a stream: output as base64, bytes of input that were taken, or its end."""

    stream: int
    channel: int = 0
    data: str = ""
    taken: int = 0
    ended: bool = False
    code: int = 0
    why: str = ""


class ErrorData(msgspec.Struct, frozen=True):
    kind: str
    message: str = ""
    errno: int = 0
    path: str = ""
    file: str = ""
    value: str = ""
    why: str = ""


class AgentResponse(msgspec.Struct, frozen=True):
    id: int
    ok: Any = None
    error: dict[str, Any] | None = None


class AgentFacts(msgspec.Struct, frozen=True):
    """What a node says of itself when it has started."""

    version: Literal[1, 2]
    controllers: list[str]
    lowest_score: int
    kernel: str
    systemd: str
    cpus: list[int]
    limits: list[str]
    seconds: float
    began: float


class ProcessReport(msgspec.Struct, frozen=True):
    """What /proc says about a process of a container."""

    namespace: str
    pod: str
    container: str
    pid: int
    first: bool
    path: str
    cgroup: str
    oom_score: int
    oom_score_adj: int
    cpus: str
    rss: int
    page_tables: int
    command: str
    refused: int | None = None


class TreeData(msgspec.Struct, frozen=True):
    """A cgroup tree: of each cgroup path, kind, title, writer, pod, uid, container, qos; of each file six columns."""

    version: Literal[1, 2]
    driver: Literal["cgroupfs", "systemd"]
    cgroups: list[
        tuple[
            tuple[str, str, str, str, str, str, str, str],
            list[tuple[str, str, str, str, bool, int]],
        ]
    ]


class KernelLogLines(msgspec.Struct, frozen=True):
    lines: list[str]
    why: str


STREAM_REQUESTS = (
    *("exec", "attach", "follow", "connect"),
    *("stream_write", "stream_resize", "stream_more", "stream_close"),
)
ANSWERS: dict[str, Any] = {
    **dict.fromkeys(("write", "makedirs", "rmdir", "signal", "watch", "unwatch", "objects", *STREAM_REQUESTS), None),
    **dict.fromkeys(("read", "checkpoint", "logs"), str),
    **dict.fromkeys(("tree", "desired"), TreeData),
    **dict.fromkeys(("alive", "sync"), float),
    "exists": bool,
    "children": list[str],
    "timeline": list[list[Any]],
    "processes": list[ProcessReport],
    "usages": list[tuple[str, str, str, float, int]],
    "usage": int,
    "total_usage": tuple[float, int],
    "kernel_log": KernelLogLines,
    "start": AgentFacts,
    "unit": dict[str, Any],
}
"""Request -> the type of its answer."""


def _plain(value: Any) -> Any:
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, Release):
        return {"name": value.name, "gates": value.gates()}
    raise TypeError(f"{type(value).__name__} cannot be sent to a node")


def _made(kind: type, value: Any) -> Any:
    if kind is Quantity:
        return Quantity(value)
    if kind is Release:
        return Release(value["name"], value["gates"])
    raise TypeError(f"{kind.__name__} cannot be received")


_encoder = msgspec.json.Encoder(enc_hook=_plain)
_decoder = msgspec.json.Decoder()


def encode(message: Mapping[str, Any]) -> bytes:
    """A message as one line."""
    return _encoder.encode(message) + b"\n"


_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_ALL_BUT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def check_bounds(line: bytes, size: int = MAX_LINE) -> None:
    """Refuse a line that is too long or nested too deeply, before it is decoded.

    Raises:
        KitError: where it is.
    """
    if len(line) > size:
        raise KitError(f"a message of {len(line)} bytes: at most {size} are taken")
    if line.count(b"[") + line.count(b"{") > MAX_DEPTH:
        brackets = _TEXTS.sub(b"", line).translate(None, _ALL_BUT_BRACKETS)
        if max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > MAX_DEPTH:
            raise KitError(f"a message of more than {MAX_DEPTH} levels")


def decode(line: bytes, size: int = MAX_LINE) -> dict[str, Any]:
    """A line of at most `size` bytes as a message.

    Raises:
        KitError: where it is none.
    """
    check_bounds(line, size)
    try:
        found = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise KitError(f"{line[:80]!r} is not a message: {error}") from None
    if not isinstance(found, dict):
        raise KitError(f"{line[:80]!r} is not a message: an object is expected")
    return found


def check_message(message: Mapping[str, Any]) -> None:
    """Whether what a node says fits the schema of its kind: a report, a sample, or an answer.

    Raises:
        KitError: where it does not.
    """
    kind: Any = AgentResponse
    for name, one in (("report", Report), ("watch", WatchSample), ("stream", StreamMessage)):
        if name in message:
            kind = one
            break
    _convert(message, kind, "a message")


def check_answer(do: str, ok: Any) -> None:
    """Whether an answer has the type that its request has.

    Raises:
        KitError: where it has not.
    """
    _convert(ok, ANSWERS.get(do, Any), f"the answer to {do!r}")


def _convert(data: Any, kind: Any, what: str) -> None:
    try:
        convert(data, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise KitError(f"{what} is refused: {error}") from None


def write(descriptor: int, line: bytes) -> None:
    """Write a line to a pipe, all of it."""
    left = memoryview(line)
    while left:
        left = left[os.write(descriptor, left) :]


def config_to_data(config: NodeConfig) -> Any:
    """A node's configuration as plain data."""
    return msgspec.to_builtins(config, enc_hook=_plain)


def config_from_data(data: Any) -> NodeConfig:
    """The configuration back."""
    return convert(data, NodeConfig, _made)


def condition_from_data(data: Any) -> Condition:
    """A condition that was sent as `to_dict` writes it."""
    return convert(data, Condition, _made)


def tree_to_data(tree: CgroupTree) -> dict[str, Any]:
    """A tree with its titles and reasons."""
    return {
        "version": tree.version,
        "driver": tree.driver,
        "cgroups": [
            [
                [c.path, c.kind, c.title, c.writer, c.pod, c.uid, c.container, c.qos],
                [[f.name, f.value, f.reason, f.source, f.written, f.page_size] for f in c.values()],
            ]
            for c in tree.values()
        ],
    }


def tree_from_data(data: Mapping[str, Any]) -> CgroupTree:
    """The tree back."""
    version: Version = data["version"]
    made = []
    for (path, kind, title, writer, pod, uid, container, qos), files in data["cgroups"]:
        found = {
            name: CgroupFile(name, value, Reason(_literal(why), source=source), written, page)
            for name, value, why, source, written, page in files
        }
        made.append(Cgroup(path, kind, title, writer, found, pod, uid, container, qos))
    return CgroupTree(version, data["driver"], made)


def _literal(text: str) -> str:
    return text  # a Reason without arguments is not formatted


def error_to_data(error: Exception) -> dict[str, Any]:
    """An error so that it can be raised again on the other side."""
    if isinstance(error, CgroupError):
        return {
            "kind": "cgroup",
            "errno": error.errno,
            "path": error.path,
            "file": error.file,
            "value": error.value,
            "why": error.why,
        }
    kind = "not found" if isinstance(error, NotFound) else "refused" if isinstance(error, KitError) else "failed"
    text = str(error) if isinstance(error, KitError) else f"{type(error).__name__}: {error}"
    return {"kind": kind, "message": text}


def error_from_data(data: Mapping[str, Any], node: str) -> KitError:
    """The error back; one that the node did not expect names the node."""
    try:
        found = convert(data, ErrorData)
    except msgspec.ValidationError as error:
        return KitError(f"node {node}: its error is refused: {error}")
    if found.kind == "cgroup" and found.errno in errno.errorcode:
        return CgroupError(found.errno, found.path, found.file, found.value, found.why)
    if found.kind == "not found":
        resource, _, name = found.message.partition(" ")
        return NotFound(resource, name.strip('"').partition('"')[0])
    if found.kind == "failed":
        return KitError(f"node {node}: the agent could not do it: {found.message}")
    return KitError(found.message)
