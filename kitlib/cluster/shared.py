"""A simulated cluster as the text of a link: its nodes, and the actions on it.

The state is compressed JSON. A link may come from any source, so its size, its expanded size and every field are
checked before a cluster is made, and nothing in it can name a file.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from kitlib.api.boundary import json_document
from kitlib.api.clock import VirtualClock
from kitlib.api.convert import convert
from kitlib.api.errors import KitError
from kitlib.cluster.cluster import Cluster
from kitlib.cluster.journal import Journal

MARK = "kitlib="
FORMAT = 1
"""The field `version` in the state of a cluster or a widget."""
MAX_TEXT = 48_000
"""The maximum length of a state in characters; chat programs and mail keep links of this length."""
MAX_BYTES = 1 << 20
MAX_SECONDS = 7 * 86_400.0
"""The maximum total time of a shared journal, in seconds."""
_STATE = re.compile(r"[A-Za-z0-9_-]+")
_FLAG = re.compile(r"--(?!config)[a-z0-9-]+(=[^/\\]*)?")
Kind = TypeVar("Kind")
Word = Annotated[str, Meta(max_length=253)]
Flag = Annotated[str, Meta(max_length=300)]


class SharedNode(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A node, as a specification for `Cluster.simulated(nodes=…)`."""

    name: Word
    cpus: Annotated[int, Meta(ge=1, le=512)]
    memory: Annotated[str, Meta(max_length=32)]
    labels: dict[Word, Word] = {}
    taints: Annotated[list[Word], Meta(max_length=20)] = []
    kubelet: Annotated[list[Flag], Meta(max_length=40)] = []
    resources: dict[Word, Annotated[int, Meta(ge=0, le=100_000)]] = {}


class SharedState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a link."""

    version: Literal[1]
    release: Annotated[str, Meta(max_length=8)]
    cgroups: Literal[1, 2]
    nodes: Annotated[list[SharedNode], Meta(min_length=1, max_length=100)]
    journal: Annotated[list[dict[str, Any]], Meta(max_length=500)]


def state_of(cluster: Any) -> str:
    """Return the state of a simulated cluster as text of letters, digits, - and _.

    Raises:
        KitError: a link cannot hold it: real nodes, nodes with images or devices, or too many actions.
    """
    return packed(shared_state(cluster))


def shared_state(cluster: Any) -> SharedState:
    """Return the content of a link to a simulated cluster; raises KitError like `state_of`."""
    if not isinstance(cluster.clock, VirtualClock):
        raise KitError(
            "share: only simulated clusters can be shared, because a link cannot replay the time of a real cluster"
        )
    nodes = [_node(plan) for plan in cluster.options.nodes]
    version: Literal[1, 2] = cluster.node(nodes[0].name).desired().version if nodes else 2
    return SharedState(1, str(cluster.release.name), version, nodes, list(cluster.journal))


def made_again(state: SharedState) -> Any:
    """Create the cluster that a state describes and replay its actions.

    Raises:
        KitError: the state has something that a scenario may not have, and no cluster is made; or an action fails.
    """
    for node in state.nodes:
        for flag in node.kubelet:
            if not _FLAG.fullmatch(flag):
                raise KitError(
                    f"share: node {node.name}: kubelet: must be a flag that does not name a file, got {flag[:80]!r}"
                )
    journal = Journal.checked(state.journal)
    # The total is checked before the replay, because each simulated second costs real time.
    seconds = sum(
        float(entry["seconds"]) * (entry.get("steps") or 1) for entry in journal if entry["action"] == "advance"
    )
    if seconds > MAX_SECONDS:
        raise KitError(
            f"share: the scenario takes {seconds:.0f} simulated seconds, but a link can replay at most "
            f"{MAX_SECONDS:.0f}"
        )
    cluster = Cluster.simulated(
        [msgspec.to_builtins(node) for node in state.nodes], cgroup_version=state.cgroups, release=state.release
    )
    try:
        cluster.replay(journal)
    except BaseException:
        cluster.close()
        raise
    return cluster


def packed(state: msgspec.Struct) -> str:
    """Return the text of a link's content.

    Raises:
        KitError: the text is too long for a link.
    """
    text = json.dumps(msgspec.to_builtins(state), ensure_ascii=False, separators=(",", ":"), default=str)
    made = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
    if len(made) > MAX_TEXT:
        raise KitError(f"share: {len(made)} characters are too many for a link; the maximum is {MAX_TEXT}")
    return made


def unpacked(state: str) -> Any:
    """Return the document in a link's text, not yet checked.

    Raises:
        KitError: the text is damaged, or its content too large.
    """
    try:
        compressed = base64.urlsafe_b64decode(state + "=" * (-len(state) % 4))
        unpacking = zlib.decompressobj()
        # The bound applies while unpacking: a small link may expand to gigabytes.
        plain = unpacking.decompress(compressed, MAX_BYTES)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise KitError(f"share: the link is damaged: {error}") from None
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise KitError(f"share: the link is damaged, or its content is larger than {MAX_BYTES} bytes")
    try:
        return json_document(plain, "link")
    except (ValueError, RecursionError) as error:
        raise KitError(f"share: {str(error)[:300]}") from None


def converted(document: Any, kind: type[Kind]) -> Kind:
    """Convert the document to `kind`; raises KitError, which names the wrong field."""
    try:
        return convert(document, kind)
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        raise KitError(f"share: {str(error)[:300]}") from None


def state_in(text: str) -> str:
    """Return the state in a link or a text.

    Raises:
        KitError: there is no state, or it is longer than a link may be.
    """
    state = text.strip().rpartition(MARK)[2]
    if len(state) > MAX_TEXT or not _STATE.fullmatch(state):
        raise KitError(
            f"share: a link must end with #{MARK} and at most {MAX_TEXT} letters, digits, hyphens and underscores"
        )
    return state


def line_of(state: str, name: str = "cluster") -> str:
    """Return the line of Python code that opens a state."""
    return f'from kitlib.lab.share import opened; {name} = opened("{state}"); {name}'


def _node(plan: Any) -> SharedNode:
    flags = plan.kubelet
    files = isinstance(flags, str) or any(not isinstance(flag, str) for flag in flags)
    if files or plan.images or plan.missing_images or plan.devices:
        raise KitError(f"share: node {plan.name}: images, devices and configuration files cannot be put into a link")
    taints = [f"{taint.key}={taint.value or ''}:{taint.effect}" for taint in plan.taints]
    return SharedNode(
        plan.name,
        plan.machine.cores,
        str(plan.machine.memory),
        dict(plan.labels),
        taints,
        list(flags),
        dict(plan.resources),
    )
