"""The job was killed because the node's memory ran out, and the database was not."""

import re

from kitlib.lab import Checks, Experiment, Facts, Wrong

checks = Checks()
STEP = 20
"""Growth of the job on the next night, MiB per second."""


def killed(facts: Facts, name: str) -> bool:
    pod = facts.pod(name)
    for status in pod.status.container_statuses:
        for state in (status.state, status.last_state):
            if (state.get("terminated") or {}).get("reason") == "OOMKilled":
                return True
    return False


def score_at_kill(facts: Facts, pod) -> int:
    """The oom_score_adj in the kernel log of a pod's last kill; without one, what the kubelet computes now."""
    log, uid = "\n".join(facts.kernel_log(pod.spec.node_name)), pod.metadata.uid
    pids = re.findall(rf"task_memcg=[^,]*(?:{uid}|{uid.replace('-', '_')}).*,pid=(\d+)", log)
    found = re.findall(rf"Killed process {pids[-1]} .*oom_score_adj:(-?\d+)", log) if pids else []
    return int(found[-1]) if found else facts.oom_score_adj(pod.metadata.name)


def ran_for(facts: Facts, pod) -> float:
    """Seconds since the container of a pod started."""
    running = [s.state["running"] for s in pod.status.container_statuses if "running" in s.state]
    return min((facts.seconds_since(one.get("startedAt")) for one in running), default=0.0)


def since_kill(facts: Facts, pod) -> float:
    """Seconds since a container of a pod was last killed."""
    ends = [s.state.get("terminated") or s.last_state.get("terminated") for s in pod.status.container_statuses]
    return min((facts.seconds_since(one.get("finishedAt")) for one in ends if one), default=0.0)


@checks.check("order")
def order(facts: Facts) -> None:
    v = facts.variant
    db, batch = facts.pod(v.db), facts.pod(v.batch)
    for pod in (db, batch):
        if not pod.spec.node_name:
            raise Wrong(
                f"{pod.metadata.name} is pending",
                f"{v.db} and {v.batch} on the node",
                "both requests together must fit on the node, or nothing competes: lower one of them",
            )
        if pod.status.phase == "Failed" and pod.status.reason:
            raise Wrong(
                f"{pod.metadata.name} failed: {pod.status.reason}: {pod.status.message}",
                f"{v.db} and {v.batch} running on the node",
                f"a pod that has failed stays so: delete {pod.metadata.name} and make it again",
            )
    if killed(facts, v.db):
        adjustment = score_at_kill(facts, db)
        tight = facts.limit_reached(db)
        raise Wrong(
            f"{v.db} was killed (class {db.status.qos_class}, oom_score_adj {adjustment})",
            f"{v.batch} killed, {v.db} running",
            f"no class helps against a limit of its own: {v.db} uses {v.use} MiB"
            if tight
            else "the kernel adds this value to the memory usage, and a resize does not change it for a running "
            "process: what does a pod need for less?",
        )
    facts.expect(
        killed(facts, v.batch),
        found="nobody was killed",
        expected=f"{v.batch} killed when the memory is used up",
        hint=f"{v.batch} starts to grow after 20 s: lab.cluster.advance(60). Still nobody? Then the memory never "
        "ran out",
    )
    own = facts.limit_reached(batch)
    facts.expect(
        not own,
        found=f"{v.batch} was killed{own}",
        expected="a node whose memory ran out, and the kernel's choice between the two",
        hint=f"a limit on {v.batch} keeps the node from filling up: then nobody learns whom the kernel would choose",
    )
    facts.needs_to_run(db, f"why did {v.db} end? look at its status")
    came, ended = ran_for(facts, db), since_kill(facts, batch)
    facts.expect(
        came > ended,
        found=f"{v.db} started {ended - came:.0f} s after {v.batch} was killed",
        expected=f"{v.db} running when the memory was used up",
        hint=f"the kernel had no choice: {v.db} was not there. Start {v.db} first, then {v.batch}",
    )
    facts.kernel_log(db.spec.node_name)
    facts.memory_limit(db)
    facts.process_score(v.db)


@checks.again("order", "the next night")
def next_night(facts: Experiment) -> None:
    """Both are made again from the learner's manifests: the database takes more, and the job grows further.

    The job grows in small steps: in one step, it would be larger than the node can hold when the kernel chooses.
    """
    v = facts.variant
    most = v.grow + 30
    growth = "; ".join(f"1s cpu=80m memory={now}Mi" for now in range(STEP, most, STEP))
    batch = f"30s cpu=80m; {growth}; cpu=80m memory={most}Mi"
    manifests = [facts.manifest(v.db, main=f"cpu=80m memory={v.busy}Mi"), facts.manifest(v.batch, main=batch)]
    for name in (v.db, v.batch):
        facts.delete("Pod", name)
    facts.let_pass(2)
    facts.apply(*manifests)
    facts.let_pass(5)
    for name in (v.db, v.batch):
        facts.gets_cpu(name, 80, "80m, as on every busy night", "a CPU limit below its use stops a pod's work")
    facts.let_pass(75)
    facts.runs(v.db, f"{v.db} must be the one that the kernel spares, every night")
    facts.expect(
        killed(facts, v.batch),
        found=f"{v.batch} was not killed",
        expected=f"{v.batch} killed when the memory is used up",
        hint="both start from your manifests, and the job takes a little more than last night",
    )


@checks.observed("scores", at_start=True)
def scores(facts: Facts) -> int:
    return facts.oom_score_adj(facts.variant.db) - facts.oom_score_adj(facts.variant.batch)
