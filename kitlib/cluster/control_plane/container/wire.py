"""What the control plane and its owner say to each other, on top of the lines that nodes use (`node.real.protocol`).

Objects travel as plain data. Plans of nodes, settings, decisions of the scheduler and errors are pickled, and read by
an unpickler that makes nothing but the kit's own types, arrays and plain containers: a message can say what something
is, never run anything.

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

import base64
import builtins
import importlib
import io
import pickle
from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec

from kitlib.api.errors import KitError
from kitlib.api.resource import Quantity

VERSION = 3
"""Counted up when the messages change: a control plane of an old image says so instead of failing later."""
FAR = 1 << 40
"""Requests of the control plane to a node have numbers from here on, those of the owner stay below."""
_ROOMS = ("kitlib.api.", "kitlib.kubelet.", "kitlib.scheduler.", "kitlib.cluster.")
_PLAIN = {
    "builtins": {"set", "frozenset", "complex", "bytearray", "slice", "range", "object"},
    "datetime": {"datetime", "date", "timedelta", "timezone"},
    "collections": {"OrderedDict", "defaultdict", "deque", "Counter"},
    "types": {"MappingProxyType", "SimpleNamespace"},
    "pathlib": {"PurePosixPath", "PosixPath"},
    "numpy": {"dtype", "ndarray"},
    "numpy._core.numeric": {"_frombuffer"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "msgspec._core": {"rebuild"},
    "copyreg": {"_reconstructor"},
}


class Passed(msgspec.Struct):
    """The few fields that say where a line belongs; the line itself is not looked into."""

    to: str = ""
    sender: str = msgspec.field(name="from", default="")
    line: msgspec.Raw = msgspec.Raw(b"")
    start: int = 0
    plan: str = ""
    end: str = ""


_passed = msgspec.json.Decoder(Passed)


def passed(line: bytes) -> Passed:
    """Where a line belongs.

    Raises:
        KitError: where it is no message.
    """
    try:
        return _passed.decode(line)
    except msgspec.DecodeError as error:
        raise KitError(f"{line[:80]!r} is no message: {error}") from None


def envelope(key: str, name: str, line: bytes) -> bytes:
    """A node's line with the node's name: `key` is "to" or "from"."""
    return msgspec.json.encode({key: name, "line": msgspec.Raw(line)}) + b"\n"


def pack(value: Any) -> str:
    """A value of the kit's own types as text.

    Raises:
        KitError: where something in it cannot leave this process.
    """
    try:
        return base64.b64encode(pickle.dumps(value, 5)).decode()
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise KitError(f"{type(value).__name__} cannot be sent to a control plane: {error}") from None


def unpack(text: str) -> Any:
    """The value back.

    Raises:
        KitError: for anything but the kit's own types, arrays and plain containers.
    """
    try:
        return _Reader(io.BytesIO(base64.b64decode(text))).load()
    except (pickle.UnpicklingError, ValueError, TypeError, AttributeError, ImportError, EOFError) as error:
        raise KitError(f"what was sent cannot be read: {error}") from None


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Only what may be made."""
        module = module.replace("numpy.core.", "numpy._core.")
        if (module, name) == ("builtins", "getattr"):
            return _member
        if name in _PLAIN.get(module, ()):
            return super().find_class(_numpy(module), name)
        if module.startswith(_ROOMS) and "." not in name:
            found = getattr(importlib.import_module(module), name, None)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is not one of the types that may be sent")


def _numpy(module: str) -> str:
    """numpy 1 has its inside under another name."""
    if module.startswith("numpy._core"):
        import numpy

        return module if hasattr(numpy, "_core") else module.replace("numpy._core", "numpy.core")
    return module


def _member(kind: Any, name: str) -> Any:
    """How an enumeration's member is pickled, and a quantity."""
    if kind is Quantity and name == "_of":
        return Quantity._of
    if isinstance(kind, type) and issubclass(kind, Enum) and name in kind.__members__:
        return kind[name]
    raise pickle.UnpicklingError(f"{kind!r} has no member {name!r}")


def error_to_data(error: BaseException) -> dict[str, Any]:
    """An error so that it can be raised again on the other side, as the same kind."""
    kind = type(error)
    data = {"kind": kind.__name__, "module": kind.__module__, "message": str(error), "args": pack(())}
    try:
        data["args"] = pack((error.args, vars(error)))
    except KitError:  # what it carries cannot travel; its words can
        data["args"] = pack(((str(error),), {}))
    return data


def error_from_data(data: Mapping[str, Any]) -> Exception:
    """The error back; what neither the kit nor Python itself raises becomes a KitError."""
    module, name = str(data["module"]), str(data["kind"])
    kind: Any = None
    if module == "builtins":
        kind = getattr(builtins, name, None)
    elif module.startswith("kitlib."):
        kind = getattr(importlib.import_module(module), name, None)
    ours = isinstance(kind, type) and (
        issubclass(kind, KitError) or (module == "builtins" and issubclass(kind, Exception))
    )
    try:
        arguments, fields = unpack(data["args"])
        if ours:
            made: Exception = kind.__new__(kind)
            made.args = tuple(arguments)
            made.__dict__.update(fields)
            return made
    except (KitError, TypeError, ValueError):
        pass
    return KitError(f"the control plane could not do it: {name}: {data['message']}")
