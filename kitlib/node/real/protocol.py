"""What a node and its owner say to each other: one JSON object a line, over the container's standard streams.

The owner asks `{"id": 7, "do": "read", …}`, the node answers `{"id": 7, "ok": …}` or `{"id": 7, "error": …}`. Without
being asked the node reports: `{"report": "status", …}` for what its kubelet tells the API server, `{"watch": 3, …}` for
the samples of a watch, `{"report": "busy"}` while a request takes long. Nothing else may be written to the node's
standard output.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from kitlib.api.errors import KitError, NotFound
from kitlib.api.meta import Condition
from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupFile, CgroupTree, Reason, Version
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.node.common.errors import CgroupError

VERSION = 2
"""Counted up when the messages change: a node of an old image says so instead of failing later."""


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


def decode(line: bytes) -> dict[str, Any]:
    """A line as a message.

    Raises:
        KitError: where it is none.
    """
    try:
        found = _decoder.decode(line)
    except msgspec.DecodeError as error:
        raise KitError(f"{line[:80]!r} is no message: {error}") from None
    if not isinstance(found, dict):
        raise KitError(f"{line[:80]!r} is no message: an object is expected")
    return found


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
    return msgspec.convert(data, NodeConfig, dec_hook=_made)


def condition_from_data(data: Any) -> Condition:
    """A condition that was sent as `to_dict` writes it."""
    return msgspec.convert(data, Condition, dec_hook=_made)


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
    if data["kind"] == "cgroup":
        return CgroupError(data["errno"], data["path"], data["file"], data["value"], data["why"])
    if data["kind"] == "not found":
        resource, _, name = data["message"].partition(" ")
        return NotFound(resource, name.split('"')[1] if '"' in name else name)
    if data["kind"] == "failed":
        return KitError(f"node {node}: the agent could not do it: {data['message']}")
    return KitError(data["message"])
