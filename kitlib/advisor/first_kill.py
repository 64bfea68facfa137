"""Four pods on a full node: one grows, the kernel kills one, and the reason is computed from the kernel's scores.

The start page and the widget `FirstKill` display it. The victim is read from the pods' statuses. The ranking is the
kernel's: the used memory plus oom_score_adj thousandths of the total memory.

Source: kernel mm/oom_kill.c (oom_badness); kubelet GetContainerOOMScoreAdjust.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from kitlib.api.errors import KitError
from kitlib.cluster.nodes.metrics import oom_rows
from kitlib.kubelet.qos.policy import GUARANTEED_OOM_SCORE_ADJ
from kitlib.node.simulated.oom import PAGE

if TYPE_CHECKING:
    from kitlib.api.core import Pod

NODE = {
    "name": "node-1",
    "cpus": 2,
    "memory": "1280Mi",
    "kubelet": ["--eviction-hard=", "--system-reserved=memory=256Mi"],
}
"""1 GiB is available for pods; eviction by the kubelet is off, so that only the kernel kills."""
GROWS_AFTER = 4
WAIT = 20
MIB = 2**20


@dataclass(frozen=True)
class Contender:
    """A pod of the scene.

    Attributes:
        name: the pod's name.
        qos: its QoS class.
        requests: memory request in MiB; 0 = none.
        uses: used memory in MiB.
        wants: memory in MiB that it uses after a while; 0 = its use does not change.
    """

    name: str
    qos: str
    requests: int
    uses: int
    wants: int = 0

    def manifest(self) -> dict[str, Any]:
        """Return the pod's manifest, with its workload declared in an annotation."""
        work = f"memory={self.uses}Mi"
        if self.wants:
            work = f"{GROWS_AFTER}s {work}; memory={self.wants}Mi"
        amounts = {"cpu": "100m", "memory": f"{self.requests}Mi"}
        resources = {
            "Guaranteed": {"requests": amounts, "limits": amounts},
            "Burstable": {"requests": {"memory": f"{self.requests}Mi"}},
            "BestEffort": {},
        }[self.qos]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self.name, "annotations": {"kitlib.dev/workload.main": work}},
            "spec": {
                "nodeName": NODE["name"],
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "main", "image": "app", "resources": resources}],
            },
        }


PODS = (
    Contender("web", "Guaranteed", 300, 250),
    Contender("cache", "BestEffort", 0, 220),
    Contender("log", "Burstable", 16, 20),
    Contender("db", "Burstable", 460, 460, wants=580),
)
"""The scene must not answer notebook 05: there the victim is Burstable, and the growing pod requests 500 MiB."""
QUESTION = "db grows by 120 MiB, and 74 are free. Whom does the kernel kill?"
CAPACITY = 1024
GROWING = next(pod for pod in PODS if pod.wants)


@dataclass(frozen=True)
class Rank:
    """The kernel's score of a pod.

    Attributes:
        name: the pod's name.
        qos: its QoS class.
        uses: used memory in MiB when the memory was exhausted.
        adj: its oom_score_adj, read from the node.
        points: score in MiB: `uses` + `adj` thousandths of the total memory.
    """

    name: str
    qos: str
    uses: int
    adj: int

    @property
    def points(self) -> int:
        return self.uses + self.adj * CAPACITY // 1000


@dataclass(frozen=True)
class Outcome:
    """The result of the run.

    Attributes:
        killed: the pod; "" = none.
        ranking: the pods by descending score.
        log: the kernel's line about the kill; "" if the log is not readable.
    """

    killed: str
    ranking: tuple[Rank, ...]
    log: str

    def as_data(self) -> dict[str, Any]:
        """Return the outcome as plain values for the page."""
        ranking = [{**asdict(rank), "points": rank.points} for rank in self.ranking]
        return {"killed": self.killed, "ranking": ranking, "log": self.log}


Report = Callable[[str, float], None]
"""Called with a sentence about the current step, and the completed part of the run from 0 to 1."""


def run(cluster: Any, report: Report | None = None) -> Outcome:
    """Start the four pods, let one grow, and return the kernel's victim.

    Args:
        cluster: a cluster with the node `NODE`.
        report: called after each change of the progress; pods of a real node take seconds to start.

    Raises:
        KitError: the pods do not start.
    """
    said = ""
    for pod in cluster.pods():
        cluster.delete("Pod", pod.name, pod.namespace, grace=0)
    cluster.advance(0.5)
    node, seen = cluster.node(NODE["name"]), len(cluster.node(NODE["name"]).kernel_log())
    cluster.apply([pod.manifest() for pod in PODS])
    ranking: tuple[Rank, ...] = ()
    waited = 0.0
    while waited < WAIT:
        cluster.advance(0.5)
        waited += 0.5
        text, part = progress(cluster.pods())
        if report is not None and text != said:
            report(text, part)
            said = text
        # The ranking just before the kill; after it the victim's process no longer exists.
        ranking = _ranking(node) or ranking
        killed = _killed(cluster)
        if killed:
            lines = [line for line in node.kernel_log()[seen:] if "Killed process" in line]
            return Outcome(killed, ranking, lines[-1][:300] if lines else "")
    failed = [f"{p.name}: {p.status.message or p.status.reason}" for p in cluster.pods() if p.status.phase == "Failed"]
    if failed:
        raise KitError(failed[0])
    return Outcome("", ranking, "")


def progress(pods: Iterable[Pod]) -> tuple[str, float]:
    """Return a sentence about how far the scene is, and the completed part of the run from 0 to 1."""
    running = sum(pod.status.phase not in ("", "Pending") for pod in pods)  # the victim has run too
    if running < len(PODS):
        return f"{running} of {len(PODS)} pods run.", running / (len(PODS) + 1)
    wait = f"{GROWING.name} takes its memory {GROWS_AFTER} s after its start"
    return f"All {len(PODS)} pods run; {wait}.", len(PODS) / (len(PODS) + 1)


@dataclass(frozen=True)
class KillMoment:
    """The node at a moment of the story.

    Attributes:
        caption: description of the last event.
        uses: pod -> used memory in MiB, in the order of `PODS`.
        dead: the pod that is being killed; "" = none.
    """

    caption: str
    uses: dict[str, int]
    dead: str = ""


def moments(outcome: Outcome | None) -> list[KillMoment]:
    """Return the moments of the story in order; before the kill, only the first one."""
    quiet = {pod.name: pod.uses for pod in PODS}
    first = KillMoment(f"{GROWING.name} is quiet.", quiet)
    if outcome is None or not outcome.killed:
        return [first]
    wanted = {**quiet, GROWING.name: GROWING.wants}
    left = {name: uses for name, uses in wanted.items() if name != outcome.killed}
    over = sum(wanted.values()) - CAPACITY
    return [
        first,
        KillMoment(f"{GROWING.name} takes its memory: {over} MiB more are wanted than there are.", wanted),
        KillMoment(f"The kernel must kill a process. It takes one of {outcome.killed}.", wanted, outcome.killed),
        KillMoment(f"{outcome.killed} is gone; its memory is enough for now.", left),
    ]


def _ranking(node: Any) -> tuple[Rank, ...]:
    """Return the pods by the kernel's score once db wants more memory; () until all of them run."""
    known = {f"{pod.name}/main": pod for pod in PODS}
    adjusted = {row["name"]: row["oom_score_adj"] for row in oom_rows(node, CAPACITY * MIB // PAGE)}
    if not known.keys() <= adjusted.keys():
        return ()
    most = CAPACITY - sum(pod.uses for pod in PODS if pod is not GROWING)
    ranks = [
        Rank(pod.name, pod.qos, most if pod is GROWING else pod.uses, int(adjusted[key])) for key, pod in known.items()
    ]
    return tuple(sorted(ranks, key=lambda rank: -rank.points))


def _killed(cluster: Any) -> str:
    for pod in cluster.pods():
        for status in pod.status.container_statuses:
            for state in (status.state, status.last_state):
                if (state.get("terminated") or {}).get("reason") == "OOMKilled":
                    return str(pod.name)
    return ""


def why(outcome: Outcome, guess: str) -> list[str]:
    """Return sentences with the verdict about the guess and the kernel's reason; all figures are from the outcome."""
    ranks = {rank.name: rank for rank in outcome.ranking}
    victim = ranks.get(outcome.killed)
    if victim is None:
        return ["No process was killed. Run it again."]
    said = [_about_the_guess(ranks[guess], victim)] if guess in ranks else []
    pod = next(pod for pod in PODS if pod.name == victim.name)
    said.append(
        f"The kernel does not ask who grew. It kills the process with the most points: memory in use, plus "
        f"oom_score_adj thousandths of the {CAPACITY} MiB for pods. {victim.name}: {victim.uses} + {victim.adj} ‰ of "
        f"{CAPACITY} = {victim.points} MiB."
    )
    said.append(
        f"Kubernetes decides the second part. The kubelet derives oom_score_adj from the memory request: {pod.name} "
        f"requests {pod.requests} MiB and uses {pod.uses}, so it goes before all others."
        if pod.requests
        else f"{pod.name} requests nothing, so the kubelet gives it the worst oom_score_adj, 1000."
    )
    for rank in outcome.ranking:
        if rank.qos == "Guaranteed" and rank.adj != GUARANTEED_OOM_SCORE_ADJ:
            said.append(
                f"The kubelet gives {rank.name}, which is Guaranteed, {GUARANTEED_OOM_SCORE_ADJ}; this kernel "
                f"lets no process lower the value without CAP_SYS_RESOURCE, so {rank.name} has {rank.adj} here."
            )
    return said


def _about_the_guess(guess: Rank, victim: Rank) -> str:
    if guess.name == victim.name:
        return f"Right: {victim.name} is killed."
    reason = {
        "db": f"it grew, but its request gives it an oom_score_adj of {guess.adj}",
        "log": f"its small request gives it an oom_score_adj of {guess.adj}, but it uses {guess.uses} MiB only",
        "web": f"a Guaranteed pod has an oom_score_adj of {guess.adj}: it goes last",
    }.get(guess.name, f"it has {guess.points} points")
    return f"Not {guess.name}: {reason}. {victim.name} is killed."
