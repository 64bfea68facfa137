"""`kitlib explain`: why a pod is pending, plugin by plugin, and the smallest change that lets it in."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kitlib.advisor.dump import Dump
    from kitlib.api.core import Pod


GATED = "Scheduling is blocked due to non-empty scheduling gates"
"""The condition's message. Source: registry/core/pod applySchedulingGatedCondition."""


def add(commands: Any) -> None:
    made = commands.add_parser(
        "explain",
        help="explain why a pod is pending, and what would help",
        description="Read what kubectl printed and explain what the scheduler decides about a pod: "
        "kubectl get nodes,pods,ns,svc,rs,sts,pdb,pc,pvc,pv,sc,csinodes,csidrivers,csistoragecapacities -A -o json "
        "| kitlib explain POD. "
        "YAML is read too, large files quickly after pip install 'kitlib[fast]'. "
        "Exit code 0: the pod fits (or the message was read); 1: it does not; 2: bad input.",
    )
    made.add_argument("pod", nargs="?", default="", help="NAME or NAMESPACE/NAME; may be left out where one pod waits")
    made.add_argument("-f", "--file", action="append", help="what kubectl printed (default: standard input)")
    made.add_argument("--live", action="store_true", help="read the cluster of your kubeconfig instead (only lists)")
    made.add_argument("--context", default="", help="of the kubeconfig, with --live")
    made.add_argument("--kubeconfig", default="", help="its path, with --live (default: $KUBECONFIG, ~/.kube/config)")
    made.add_argument("--message", metavar="TEXT", help="only read a FailedScheduling message")
    made.add_argument("--how-many", action="store_true", help="say how many more of the pod fit, and where")
    made.add_argument("--release", help="the scheduler's release, 1.23 to 1.37 (default: the newest)")
    made.add_argument("--from", dest="before", metavar="RELEASE", help="say what changes from this release to --to")
    made.add_argument("--to", dest="after", metavar="RELEASE", help="the later release (default: the newest)")
    made.add_argument("--kubelet", metavar="FILE", help="with --from: the nodes' KubeletConfiguration")
    made.add_argument("--redact", action="store_true", help="replace the names of nodes, pods and labels")
    made.add_argument("--no-remedies", action="store_true", help="do not look for changes that help")
    made.add_argument("--json", action="store_true", help="print the answer as JSON")
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kitlib.api.collector import collector_paused

    with collector_paused():  # one question, then the process ends
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    from kitlib.advisor.dump import Dump, decode
    from kitlib.advisor.redact import Redactor

    if options.message is not None:
        return _message(decode(options.message), options.json)
    if options.live:
        from kitlib.advisor.live_cluster import read_cluster
        from kitlib.api.errors import KitError

        if options.file:
            raise KitError("--live and --file exclude each other")
        dump = read_cluster(options.kubeconfig, context=options.context, release=options.release)
    else:
        dump = Dump.read(*(options.file or [sys.stdin]), release=options.release)
    if options.before or options.after:
        return _changes(dump, options)
    pod = dump.pod(options.pod)
    hide = Redactor(dump.objects).text if options.redact else str
    return (_how_many if options.how_many else _explain)(dump, pod, hide, options)


def _message(parts: dict[str, Any], as_json: bool) -> int:
    if as_json:
        print(json.dumps(parts, indent=2, ensure_ascii=False))
        return 0
    print(f"{parts['nodes']} nodes were looked at; the pod fits on none of them.")
    for title, reasons in (("Filters", parts["reasons"]), ("Preemption", parts["preemption"])):
        for reason, count in sorted(reasons.items(), key=lambda item: -item[1]):
            print(f"  {title}: {f'{count} × ' if count else ''}{reason}")
    return 0


_TITLES = {
    "QoS class": "QoS class",
    "cgroup": "Cgroups (cgroup v2, with the kubelet's settings of --kubelet or its defaults)",
    "gate": "Gates whose default changes and that change none of these objects",
}


def _changes(dump: Dump, options: argparse.Namespace) -> int:
    """Print the effects of a change of release on the objects; 1 = something changes for them."""
    from dataclasses import asdict

    from kitlib.advisor.redact import Redactor
    from kitlib.api.errors import KitError
    from kitlib.api.release import Release
    from kitlib.kubelet.app.read import read_settings

    if not options.before:
        raise KitError("--to needs --from: the release that the objects are on")
    before, after = Release.of(options.before), Release.of(options.after)
    settings = read_settings(options.kubelet, release=after) if options.kubelet else None
    found = dump.changes(before, after, settings)
    hide = Redactor(dump.objects).text if options.redact else str
    concerned = [one for one in found if one.kind != "gate"]
    if options.json:
        answer = {"from": str(before), "to": str(after), "changes": [asdict(one) for one in found]}
        print(hide(json.dumps(answer, indent=2, ensure_ascii=False)))
        return int(bool(concerned))
    print(f"From {before} to {after}, {len(dump.pods)} pods on {len(dump.nodes)} nodes:")
    for kind in dict.fromkeys(one.kind for one in found):
        print(f"\n{_TITLES.get(kind, kind.capitalize())}")
        for one in found:
            if one.kind == kind:
                print(hide(f"  {one}"))
    if not concerned:
        print("\nNothing changes for these objects.")
    return int(bool(concerned))


def _explain(dump: Dump, pod: Pod, hide: Callable[[str], str], options: argparse.Namespace) -> int:
    from kitlib.advisor.dump import unbound
    from kitlib.advisor.remedies import remedies

    scheduler = dump.scheduler(without=pod)  # one for the decision and all that is tried
    decision = scheduler.explain(unbound(pod))
    foreign, left_out = _foreign_scheduler(dump, pod), dump.left_out_of(pod)
    asked = not (options.no_remedies or decision.suggested_host or foreign or pod.spec.node_name)
    helps = remedies(dump, pod, scheduler=scheduler) if asked else []
    if options.json:
        answer = {
            "pod": pod.key,
            "release": str(decision.release),
            "chosen": decision.suggested_host,
            "feasible": decision.feasible,
            "message": decision.message,
            "nodes": decision.reasons_by_node(),
            "victims": [victim.key for victim in decision.victims],
            "remedies": [{"changes": [c.text for c in one.changes], "node": one.node} for one in helps],
            "leftOut": left_out,
            "unknownReleases": dump.unknown_releases,
            "scheduler": foreign,
            "runsOn": pod.spec.node_name,
        }
        print(hide(json.dumps(answer, indent=2, ensure_ascii=False)))
    else:
        if foreign:
            print(
                hide(
                    f"Pod {pod.key} asks for the scheduler {foreign!r}: the default scheduler does not look at it, and "
                    "no event comes from it. If it did:\n"
                )
            )
        if pod.spec.node_name:
            phase = pod.status.phase or "Pending"
            print(hide(f"Pod {pod.key} is bound to {pod.spec.node_name} ({phase}). If it were scheduled anew:\n"))
        print(hide(decision.explain()))
        if decision.gate is not None:
            print(f"\nThere is no event. The condition PodScheduled says: {GATED}")
        elif decision.message and not (foreign or pod.spec.node_name):
            print(hide(f"\nThe event says: {decision.message}"))
        if helps:
            print("\nThe smallest changes that let it in (each was tried):")
            for one in helps:
                print(hide(f"  - {one}"))
        elif asked:
            print("\nNo change of up to three steps was found that lets it in.")
        if left_out:
            print(hide(f"\nNot taken into account: {left_out}."))
        if dump.unknown_release_text:
            print(hide(f"\nA newer release: {dump.unknown_release_text}."))
    if foreign:
        return 1
    return 0 if decision.suggested_host or pod.spec.node_name else 1


def _foreign_scheduler(dump: Dump, pod: Pod) -> str:
    """The scheduler that the pod asks for, where that is not the one that is explained; "" = it is."""
    from kitlib.scheduler.profile import DEFAULT_SCHEDULER

    own = dump.profile.name if dump.profile is not None else DEFAULT_SCHEDULER
    wanted = pod.spec.scheduler_name or DEFAULT_SCHEDULER
    return wanted if wanted != own else ""


def _how_many(dump: Dump, pod: Pod, hide: Callable[[str], str], options: argparse.Namespace) -> int:
    placed, stop = dump.how_many(pod)
    total = sum(placed.values())
    if options.json:
        reason = stop.message if stop is not None else ""
        print(hide(json.dumps({"pod": pod.key, "fit": total, "nodes": placed, "then": reason}, indent=2)))
        return 0 if total else 1
    print(hide(f"{total} more of {pod.key} fit."))
    for node, number in sorted(placed.items(), key=lambda item: (-item[1], item[0])):
        print(hide(f"  {number:5d}  {node}"))
    if stop is not None and stop.message:
        print(hide(f"Then: {stop.message}"))
    return 0 if total else 1
