"""It runs with what it keeps and with all its files, for a minute, below a limit.

A full tmpfs refuses a write (ENOSPC) and the program goes on: the files that are there are counted in the memory that
the kernel charges to the pod.
"""

from kitlib.lab import Checks, Experiment, Facts, Wrong
from kitlib.node.common.workload import WorkloadError, declared_workload

checks = Checks()
SECONDS = 60
MIB = 2**20


@checks.check("stable")
def stable(facts: Facts) -> None:
    pod = facts.pod(facts.variant.pod)
    same_files(facts, pod)
    if pod.status.phase != "Running":
        facts.needs_to_run(pod)
    status = next((s for s in pod.status.container_statuses if s.name == "main"), None)
    if status is None:
        raise Wrong("no container main", "the container main to run", "the container keeps its name; lab.reset()")
    ended = status.last_state.get("terminated") or {}
    ran = facts.seconds_since(status.state["running"].get("startedAt")) if "running" in status.state else 0.0
    if ran >= SECONDS:
        facts.needs_to_run(pod)
        holds_its_files(facts, pod)
        return
    facts.kernel_log(pod.spec.node_name)
    if ended.get("reason") == "OOMKilled" or "running" not in status.state:
        since = f"; it has run for {ran:.0f} s since" if ran else ""
        raise Wrong(
            f"{status.restart_count} restarts, last {ended.get('reason', 'not started')}{since}",
            "a minute without a restart",
            f"{facts.variant.heap} MiB that it keeps and {facts.variant.files} MiB of files: what of it is memory?",
        )
    raise Wrong(f"it has run for {ran:.0f} s", "a minute without a restart", "let time pass: lab.cluster.advance(60)")


@checks.check("bounded")
def bounded(facts: Facts) -> None:
    facts.needs_a_memory_limit(facts.pod(facts.variant.pod), "main", facts.variant.cap)


def same_files(facts: Facts, pod) -> None:
    """It writes as much as before, in memory or on the disk, and the volume is what its work takes it for."""
    try:
        last = declared_workload(facts.work(pod, "main")).phases[-1]
    except WorkloadError:
        raise Wrong("work that cannot be read", "memory=… and shm=… or volume=…", "lab.reset() starts again") from None
    shm, volume = last.shm // MIB, last.volume // MIB
    facts.expect(
        sorted((shm, volume)) == [0, facts.variant.files],
        found=f"it writes {shm} MiB to memory and {volume} MiB to the disk",
        expected=f"{facts.variant.files} MiB of files, all in one place",
        hint="the work must be done: only where the files lie is yours to change",
    )
    medium = next((v.empty_dir.medium for v in pod.spec.volumes if v.name == "scratch" and v.empty_dir), None)
    facts.expect(
        medium in (None, "", "Memory"),
        found=f"an emptyDir of medium {medium!r}, which the kubelet does not mount",
        expected="a volume in memory or on the disk of the node",
        hint="medium is Memory, or left out for the disk; huge pages would have to be requested by the pod",
    )
    facts.expect(
        medium is not None and (medium == "Memory") == (last.shm > 0),
        found="files in memory" if last.shm else "files on the disk" + f", in an emptyDir of medium {medium!r}",
        expected="the medium of the volume and the annotation to say the same",
        hint="shm= belongs to medium: Memory, volume= to an emptyDir without it",
    )


def holds_its_files(facts: Facts, pod) -> None:
    """A volume in memory holds all files: the kernel charges them to the pod together with the heap."""
    v = facts.variant
    if not any(volume.empty_dir and volume.empty_dir.medium == "Memory" for volume in pod.spec.volumes):
        return  # on the disk, the kubelet evicts a pod whose files exceed the sizeLimit
    used = facts.memory_usage(pod) / MIB
    facts.expect(
        used >= v.heap + v.files,
        found=f"the volume holds {max(0, int(used - v.heap))} MiB of files",
        expected=f"all {v.files} MiB of files written",
        hint="a write fails when the emptyDir volume is full: its sizeLimit must leave room for all files",
    )


@checks.again("stable", "the program ends and starts once more")
def restart(facts: Experiment) -> None:
    """The files of the emptyDir are still there when it starts again."""
    name = facts.variant.pod
    before = sum(status.restart_count for status in facts.pod(name).status.container_statuses)
    facts.end_process(name)
    facts.let_pass(60)
    pod = facts.runs(name, "the files of the first start count, too, where they lie in memory")
    restarts = sum(status.restart_count for status in pod.status.container_statuses) - before
    facts.expect(
        restarts == 1,
        found=f"{restarts} restarts",
        expected="the one that the check made",
        hint="does it fit once more?",
    )


@checks.observed("after", at_start=True)
def after(facts: Experiment) -> float:
    for _ in range(60):
        pod = facts.pod(facts.variant.pod)
        if "waiting" in pod.status.container_statuses[0].state:
            break
        facts.let_pass(1)
    return round(facts.memory_usage(facts.pod(facts.variant.pod)) / MIB, 1)
