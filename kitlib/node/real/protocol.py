"""The messages between a node and its owner: one JSON object a line, over the container's standard streams.

The owner requests `{"id": 7, "do": "read", …}`, the node answers `{"id": 7, "ok": …}` or `{"id": 7, "error": …}`. The
node also sends messages without a request: `{"report": "status", …}` for what its kubelet tells the API server,
`{"watch": 3, …}` for the samples of a watch, `{"report": "busy"}` during a long request. Nothing else may be written to
the node's standard output.

A node that is compromised by its pods may send anything. Every line is limited in size and depth, and every message and
answer must fit a schema; others are rejected, and a node that continues loses its connection (`link`).
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
from kitlib.api.serialize import known_fields
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupFile, CgroupTree, Reason, Version
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.node.common.errors import CgroupError

VERSION = 7
"""Version of the messages: a node of an old image is rejected at its start instead of failing later."""

MAX_LINE = 64 << 20
"""Maximum bytes of a line: the tree of a node with 250 pods has 5 MB."""
MAX_DEPTH = 60
"""Maximum levels of nesting of a message: a Pod has at most 15."""


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
    """A sign of life during a long request."""


class LeaseRenewal(msgspec.Struct, frozen=True, tag_field="report", tag="lease"):
    """The renewal of the Lease by the kubelet."""


class Restarted(msgspec.Struct, frozen=True, tag_field="report", tag="restarted"):
    """A new start of the kubelet, with its settings and the number of the machine's boots."""

    config: dict[str, Any]
    boots: int


Report = EventReport | StatusReport | Gone | NodeCondition | Busy | LeaseRenewal | Restarted


class WatchSample(msgspec.Struct, frozen=True):
    watch: int
    at: float
    values: list[str | None]


class StreamMessage(msgspec.Struct, frozen=True):
    """A message of a stream: output in base64, the number of accepted input bytes, or its end."""

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
    """A node's description of itself at its start."""

    version: Literal[1, 2]
    controllers: list[str]
    lowest_score: int
    kernel: str
    systemd: str
    cpus: list[int]
    limits: list[str]
    seconds: float
    began: float
    root_mapped: bool = False
    address: str = ""
    pod_cidr: str = ""


class ProcessReport(msgspec.Struct, frozen=True):
    """Data of /proc about a process of a container."""

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
    """A cgroup tree: path, kind, title, writer, pod, uid, container, qos of each cgroup, six columns of each file."""

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
"""Type of the answer by request."""


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
    """Encode a message as a line."""
    return _encoder.encode(message) + b"\n"


_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_ALL_BUT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def check_bounds(line: bytes, size: int = MAX_LINE) -> None:
    """Check a line's size and nesting before it is decoded.

    Raises:
        KitError: the line is too long or nested too deeply.
    """
    if len(line) > size:
        raise KitError(f"the message is too long: {len(line)} bytes, but at most {size} are allowed")
    # Counted first, which is cheap: a line without more opening brackets than levels cannot be too deep.
    if line.count(b"[") + line.count(b"{") > MAX_DEPTH:
        brackets = _TEXTS.sub(b"", line).translate(None, _ALL_BUT_BRACKETS)
        if max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > MAX_DEPTH:
            raise KitError(f"invalid message: nested more than {MAX_DEPTH} levels deep")


def decode(line: bytes, size: int = MAX_LINE) -> dict[str, Any]:
    """Decode a line of at most `size` bytes.

    Raises:
        KitError: the line is not a message.
    """
    check_bounds(line, size)
    try:
        found = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise KitError(f"invalid message {line[:80]!r}: {error}") from None
    if not isinstance(found, dict):
        raise KitError(f"invalid message {line[:80]!r}: must be a JSON object")
    return found


def check_message(message: Mapping[str, Any]) -> None:
    """Check that a node's message fits the schema of its kind: a report, a sample, a stream's message or an answer.

    Raises:
        KitError: it does not.
    """
    kind: Any = AgentResponse
    for name, one in (("report", Report), ("watch", WatchSample), ("stream", StreamMessage)):
        if name in message:
            kind = one
            break
    _convert(message, kind, "a message")


def check_answer(do: str, ok: Any) -> None:
    """Check that an answer has the type that belongs to its request.

    Raises:
        KitError: it does not.
    """
    _convert(ok, ANSWERS.get(do, Any), f"the answer to {do!r}")


def _convert(data: Any, kind: Any, what: str) -> None:
    try:
        convert(data, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise KitError(f"{what} is invalid: {error}") from None


def write(descriptor: int, line: bytes) -> None:
    """Write a whole line to a pipe."""
    left = memoryview(line)
    while left:
        left = left[os.write(descriptor, left) :]


def config_to_data(config: NodeConfig) -> Any:
    return msgspec.to_builtins(config, enc_hook=_plain)


def config_from_data(data: Any) -> NodeConfig:
    return convert(data, NodeConfig, _made)


def condition_from_data(data: Any) -> Condition:
    """Return a condition that was sent in the form of `to_dict`."""
    return convert(known_fields(data, Condition), Condition, _made)


def tree_to_data(tree: CgroupTree) -> dict[str, Any]:
    """Convert a tree, with its titles and reasons, to plain data."""
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
    """Convert an error to plain data, so that it can be raised by the receiver."""
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
    """Return a received error; an unexpected one (`failed`) names the node."""
    try:
        found = convert(data, ErrorData)
    except msgspec.ValidationError as error:
        return KitError(f"node {node}: its error message is invalid: {error}")
    if found.kind == "cgroup" and found.errno in errno.errorcode:
        return CgroupError(found.errno, found.path, found.file, found.value, found.why)
    if found.kind == "not found":
        resource, _, name = found.message.partition(" ")
        return NotFound(resource, name.strip('"').partition('"')[0])
    if found.kind == "failed":
        return KitError(f"node {node}: the agent could not do it: {found.message}")
    return KitError(found.message)
