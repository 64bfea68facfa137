"""`kitlib explain`: the stage that blocks a pod or a workload, with numbers, and the smallest change that helps."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kitlib.commands.arguments import file_name
from kitlib.commands.dump_options import add_dump_options, is_live, read_dump, redactor, sources_of

if TYPE_CHECKING:
    from kitlib.advisor.dump import Dump
    from kitlib.api.core import Pod
    from kitlib.api.meta import KubeObject


def add(commands: Any) -> None:
    made = commands.add_parser(
        "explain",
        help="explain why a pod or workload waits, and what would help",
        description="Read what kubectl printed and explain which stage holds a pod, Job or another workload: "
        "kubectl get nodes,pods,ns,svc,rc,rs,sts,deploy,ds,jobs,cj,hpa,quota,limits,pdb,pc,pvc,pv,sc,csinodes,csidrivers,csistoragecapacities,volumeattachments -A -o json "  # noqa: E501
        "| kitlib explain POD. "
        "YAML is read too, large files quickly after pip install 'kitlib[fast]'. "
        "Exit code 0: it fits or runs (or the message was read); 1: a stage holds it; 2: bad input; 3: the answer "
        "depends on something that is not modelled or was not read.",
    )
    made.add_argument(
        "pod",
        nargs="*",
        help="NAME, NAMESPACE/NAME or KIND/NAME (for example job/train); can be omitted if only one pod is pending",
    )
    made.add_argument("-n", "--namespace", default="", help="namespace of the object")
    add_dump_options(made)
    made.add_argument("--message", metavar="TEXT", help="explain this FailedScheduling message")
    made.add_argument(
        "--how-many",
        action="store_true",
        help="print the number of additional copies of the pod that fit, and their nodes",
    )
    made.add_argument(
        "--from", dest="before", metavar="RELEASE", help="print the changes from this release to the release of --to"
    )
    made.add_argument("--to", dest="after", metavar="RELEASE", help="later release (default: the newest)")
    made.add_argument(
        "--kubelet", type=file_name, metavar="FILE", help="KubeletConfiguration file of the nodes; requires --from"
    )
    made.add_argument("--no-remedies", action="store_true", help="do not search for changes that help")
    made.add_argument("--json", action="store_true", help="print the answer as JSON")
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kitlib.api.collector import collector_paused

    with collector_paused():  # one question, then the process ends
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    from kitlib.advisor.message import decode
    from kitlib.advisor.printed import HEAD, is_description
    from kitlib.advisor.targets import find_target
    from kitlib.api.core import Pod
    from kitlib.api.errors import KitError
    from kitlib.api.serialize import read_source

    if options.kubelet and not options.before:
        raise KitError("--kubelet requires --from, because it applies to a change of release")
    if options.message is not None:
        return _message(decode(options.message), options.json)
    if is_live(options):
        dump = read_dump(options)
    else:
        sources = sources_of(options)
        head, _ = read_source(sources[0], HEAD)
        if is_description(head):
            text, _ = read_source(sources[0])
            return _description(text if isinstance(text, str) else text.decode("utf-8", "replace"), options.json)
        dump = read_dump(options, sources)
    if options.before or options.after:
        return _changes(dump, options)
    target = find_target(dump, " ".join(options.pod), options.namespace)
    hide = redactor(options, dump)
    if options.how_many:
        if not isinstance(target, Pod):
            raise KitError(f"--how-many: {target.kind} {target.key} is not a pod; name a pod")
        return _how_many(dump, target, hide, options)
    return _explain(dump, target, hide, options)


def _message(parts: dict[str, Any], as_json: bool) -> int:
    from kitlib.advisor.message import in_words
    from kitlib.advisor.redact import visible

    print(visible(json.dumps(parts, indent=2, ensure_ascii=False) if as_json else "\n".join(in_words(parts))))
    return 0


def _description(text: str, as_json: bool) -> int:
    """Explain the newest event of a described pod that says why it waits.

    Raises:
        KitError: there is no event.
    """
    from kitlib.advisor.bound_pods import SANDBOX_EVENTS, VOLUME_EVENTS
    from kitlib.advisor.last_word import FAILED
    from kitlib.advisor.message import decode
    from kitlib.advisor.printed import AS_JSON, described
    from kitlib.advisor.redact import visible
    from kitlib.api.errors import KitError

    events = described(text)
    if not events:
        raise KitError(f"the output of kubectl describe contains no events; {AS_JSON}")
    stages = {**dict.fromkeys(VOLUME_EVENTS, "volumes"), **dict.fromkeys(SANDBOX_EVENTS, "start"), FAILED: "filters"}
    # kubectl prints the newest event last: a pod that has its node since is not explained by an older refusal.
    reason, by, message = next((event for event in reversed(events) if event[0] in stages), events[-1])
    if reason == FAILED:
        return _message(decode(message), as_json)
    stage, message = stages.get(reason, ""), visible(message)
    if as_json:
        print(json.dumps({"stage": stage, "reason": reason, "saidBy": by, "message": message}, indent=2))
        return 0
    print(f"{f'Stage {stage}: ' if stage else 'The newest event: '}{by} reported {reason}: {message}")
    print(f"The scheduler is not what the pod waits for. For the whole answer, {AS_JSON}")
    return 0


_TITLES = {
    "QoS class": "QoS class",
    "cgroup": "Cgroups (cgroup v2, with the kubelet's settings of --kubelet or its defaults)",
    "gate": "Gates whose default changes and that change none of these objects",
}


def _changes(dump: Dump, options: argparse.Namespace) -> int:
    """Print the effects of a change of release on the objects; return 1 if there are any."""
    from dataclasses import asdict

    from kitlib.api.errors import KitError
    from kitlib.api.release import Release
    from kitlib.kubelet.app.read import read_settings

    if not options.before:
        raise KitError("--to requires --from, the release that the cluster uses now")
    before, after = Release.of(options.before), Release.of(options.after)
    settings = read_settings(options.kubelet, release=after) if options.kubelet else None
    found = dump.changes(before, after, settings)
    hide = redactor(options, dump)
    concerned = [one for one in found if one.kind != "gate"]
    if options.json:
        answer = {"from": str(before), "to": str(after), "changes": [asdict(one) for one in found]}
        print(hide(json.dumps(answer, indent=2, ensure_ascii=False)))
        return int(bool(concerned))
    print(f"From {before} to {after}, {len(dump.pods)} pods on {len(dump.nodes)} nodes:")
    for kind in dict.fromkeys(one.kind for one in found):
        print(f"\n{_TITLES.get(kind, kind.capitalize())}")
        for change in found:
            if change.kind == kind:
                print(hide(f"  {change}"))
    if not concerned:
        print("\nNothing changes for these objects.")
    return int(bool(concerned))


def _explain(dump: Dump, target: KubeObject, hide: Callable[[str], str], options: argparse.Namespace) -> int:
    from kitlib.advisor.explanation_text import as_data, in_text
    from kitlib.advisor.workloads import explain_object

    asked = not options.no_remedies
    found = explain_object(dump, target, find_remedies=asked)
    if options.json:
        print(hide(json.dumps(as_data(dump, found), indent=2, ensure_ascii=False)))
    else:
        print("\n\n".join(hide(part) for part in in_text(dump, found, remedies_asked=asked)))
    return found.exit_code


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
