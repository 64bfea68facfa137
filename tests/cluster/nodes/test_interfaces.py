"""Every kind of node is what the protocols say, and their signatures say what they take and give."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.cluster.nodes import interfaces
from kitlib.cluster.nodes.container import ContainerNode
from kitlib.cluster.nodes.hollow import HollowNode
from kitlib.cluster.nodes.interfaces import KernelNode, NotOnThisNode
from kitlib.cluster.nodes.simulated import SimulatedNode

NODES = Path(interfaces.__file__).parent
MEMBERS = sorted(n for n in dir(KernelNode) if not n.startswith("_"))


@pytest.mark.parametrize("kind", [SimulatedNode, ContainerNode, HollowNode])
@pytest.mark.parametrize("member", MEMBERS)
def test_every_kind_of_node_has_every_member(kind: type, member: str) -> None:
    assert inspect.getattr_static(kind, member, None) is not None or member == "config"


@pytest.mark.parametrize(
    "member", [m for m in MEMBERS if m not in ("advance", "close", "register", "registered", "sync")]
)
def test_a_hollow_node_says_that_it_has_no_kernel(member: str) -> None:
    with Cluster.simulated(1, kubelets=False) as cluster:
        node = cluster.node()
        assert not hasattr(node, member)
        with pytest.raises(NotOnThisNode, match=f"node 'node-1' is hollow .* so no {member}$"):
            getattr(node, member)


def test_a_misspelt_member_is_an_ordinary_attribute_error() -> None:
    with Cluster.simulated(1, kubelets=False) as cluster, pytest.raises(AttributeError) as caught:
        cluster.node().timelines  # noqa: B018
    assert not isinstance(caught.value, KitError)


def signatures() -> list[tuple[str, ast.FunctionDef]]:
    """Every public function of the package, also those of public classes."""
    found = []
    for path in sorted(NODES.glob("*.py")):
        tree = ast.parse(path.read_text())
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
        for holder in (tree, *classes):
            for node in holder.body:
                public = isinstance(node, ast.FunctionDef) and (
                    not node.name.startswith("_") or node.name == "__init__"
                )
                if public:
                    found.append((f"{path.name}: {node.name}", node))
    return found


def test_no_public_signature_of_nodes_says_any() -> None:
    found = []
    for place, function in signatures():
        arguments = function.args
        everything = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        notes = [one.annotation for one in everything if one is not None and one.annotation is not None]
        for note in [*notes, function.returns]:
            if note is not None and any(isinstance(part, ast.Name) and part.id == "Any" for part in ast.walk(note)):
                found.append(f"{place}: {ast.unparse(note)}")
    assert len(signatures()) > 100
    assert not found, "\n".join(found)
