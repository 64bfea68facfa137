"""`kitlib demo`: the worked example, from three Deployments to every value in every cgroup file, with its formula."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kitlib.kubelet.cm.cgroup_tree import CgroupTree, Difference

SYSTEM = "kube-system/"


def add(commands: Any) -> None:
    made = commands.add_parser(
        "demo",
        help="run the worked example: three pods, and every cgroup value explained",
        description="A node with 8 CPUs, 500m and 100Mi reserved for Kubernetes and the same for the system; three "
        "Deployments, one of each QoS class. Prints the CPU and the memory tree, each value with its formula, writes "
        "them to the simulated kernel, and reads them back. Exit code 1: something was read back otherwise.",
    )
    made.add_argument(
        "--cgroup-version", type=int, choices=(1, 2), default=2, help="cgroup version of the node (default: 2)"
    )
    made.add_argument(
        "--driver",
        choices=("systemd", "cgroupfs"),
        default="systemd",
        help="cgroup driver of the node (default: systemd)",
    )
    made.add_argument(
        "--controller",
        choices=("cpu", "cpuset", "memory", "pids"),
        help="show only the files of this controller (default: cpu and memory)",
    )
    made.add_argument("--all", action="store_true", help="also show the pods of kube-system")
    made.add_argument("--json", action="store_true", help="print the whole tree, with reasons and sources, as JSON")
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kitlib import examples
    from kitlib.kubelet.cm.desired import desired_tree
    from kitlib.node.simulated.cgroupfs import SimulatedCgroupFS

    node, pods = examples.worked_node(), examples.worked_pods()
    tree = desired_tree(node, pods, version=options.cgroup_version, driver=options.driver)
    kernel = SimulatedCgroupFS(options.cgroup_version, node.machine)
    kernel.apply(tree)
    observed = kernel.tree(options.driver, like=tree)
    differences = tree.diff(observed)
    if options.json:
        read_back = {"observed": observed.to_values(), "differences": [d._asdict() for d in differences]}
        print(json.dumps({"desired": tree.to_dict(), **read_back}, indent=2, ensure_ascii=False))
    else:
        shown = (tree, observed) if options.all else (_without_system(tree), _like(tree, observed))
        _show(*shown, options.controller, hidden=not options.all)
        _compare(tree, differences)
    return 1 if differences else 0


def _without_system(tree: CgroupTree) -> CgroupTree:
    from kitlib.kubelet.cm.cgroup_tree import CgroupTree

    return CgroupTree(tree.version, tree.driver, (c for c in tree.values() if not c.pod.startswith(SYSTEM)))


def _like(tree: CgroupTree, observed: CgroupTree) -> CgroupTree:
    """Return the displayed cgroups of an observed tree."""
    from kitlib.kubelet.cm.cgroup_tree import CgroupTree

    shown = _without_system(tree)
    return CgroupTree(observed.version, observed.driver, (c for c in observed.values() if c.path in shown))


def _compare(tree: CgroupTree, differences: list[Difference]) -> None:
    from kitlib.views.terminal import console

    out = console()
    written = sum(file.written for cgroup in tree.values() for file in cgroup.values())
    files = sum(len(cgroup) for cgroup in tree.values())
    done = (
        f"{written} values were written to the simulated kernel, and all {files} files of {len(tree)} cgroups read back"
    )
    if not differences:
        out.print(f"[green]{done}: each shows what was desired.[/]")
        return
    out.print(f"[red]{done}: {len(differences)} differ.[/]")
    for difference in differences:
        out.print(f"  {difference}", markup=False)


def _show(tree: CgroupTree, observed: CgroupTree, controller: str | None, *, hidden: bool) -> None:
    from kitlib.views import TreeView
    from kitlib.views.terminal import console

    out = console()
    out.print(
        "A node of 8 CPUs and 3010Mi; kube-reserved and system-reserved are cpu=500m,memory=100Mi each. Three pods: "
        "nginx-demo1 (Guaranteed), nginx-demo2 (Burstable), nginx-demo3 (BestEffort).\n"
        f"What the kubelet writes on cgroup v{tree.version} with the {tree.driver} driver, and why:\n",
    )
    for name in [controller] if controller else ["cpu", "memory"]:
        out.print(TreeView(tree, observed, controller=name))
        out.print()
    if hidden:
        out.print("[dim]The pods of kube-system are counted, but not shown: kitlib demo --all shows them.[/]")
    if tree.version == 2:
        out.print("[dim]On a host with cgroup v1: kitlib demo --cgroup-version 1.[/]")
