"""The limit is higher in every cgroup that counts, and nobody restarted the container."""

from kitlib.kubelet.util.memory_files import MEMORY_LIMIT
from kitlib.lab import Checks, Experiment, Facts

checks = Checks()
WANTED = 512 * 2**20


@checks.check("raised")
def raised(facts: Facts) -> None:
    pod = facts.pod("import")
    restarts = sum(status.restart_count for status in pod.status.container_statuses)
    facts.expect(
        restarts == 0 and facts.is_from_setup(pod),
        found=f"{restarts} restarts" if facts.is_from_setup(pod) else "another pod of the same name",
        expected="the same container, running since the start",
        hint="the import is 90% done: it must not start again. lab.reset() gives the first one back",
    )
    own, container = facts.memory_limit(pod), facts.memory_limit(pod, "import")
    file = MEMORY_LIMIT[facts.tree(pod.spec.node_name).version]
    facts.expect(
        container >= WANTED,
        found=f"{file} of the container {container}",
        expected=f"{WANTED} or more",
        hint="write into the container's own cgroup too: lab.tree() shows where it stands",
        credit=0.5 if own >= WANTED else 0.0,
    )
    facts.expect(
        own >= WANTED,
        found=f"{file} of the pod {own}, of the container {container}",
        expected=f"{WANTED} or more in both",
        hint="the pod's cgroup stands above the container's: the lower of the two limits counts",
        credit=0.5,
    )


@checks.check("spec")
def spec(facts: Facts) -> None:
    resources = facts.pod("import").spec.containers[0].resources
    limit = resources.limits["memory"].value()
    facts.expect(
        limit >= WANTED,
        found=f"limits.memory {resources.limits['memory']}",
        expected="512Mi",
        hint="by hand lasts until somebody restarts the pod: say it in the spec too",
    )


@checks.observed("reverts", at_start=True)
def reverts(facts: Experiment) -> str:
    pod = facts.pod("import")
    facts.write_cgroup(pod, MEMORY_LIMIT[facts.tree(pod.spec.node_name).version], str(WANTED))
    facts.let_pass(600)
    after = facts.pod("import")
    if after.status.container_statuses[0].restart_count:
        return "the pod is restarted"
    return "it stays" if facts.memory_limit(after) == WANTED else "the kubelet puts it back at its next sync"
