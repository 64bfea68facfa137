"""The kubelet evicted the pod that exceeds its request, and that is the cache."""

from kitlib.lab import Checks, Experiment, Facts, Wrong

checks = Checks()


def evicted(facts: Facts, name: str) -> bool:
    return facts.pod(name).status.reason == "Evicted"


@checks.check("victim")
def victim(facts: Facts) -> None:
    report, cache = evicted(facts, "report"), evicted(facts, "cache")
    if report:
        requested = facts.pod("report").spec.containers[0].resources.requests.get("memory")
        raise Wrong(
            f"report was evicted: {facts.pod('report').status.message}",
            "cache evicted, report running",
            f"report requests {requested or 'nothing'} and uses 200 MiB: pods above their request go first",
        )
    if not cache:
        raise Wrong(
            "nobody was evicted",
            "cache evicted",
            "cache grows after 20 s; the kubelet looks every 10 s: lab.cluster.advance(60)",
            credit=0.25,
        )
    facts.expect(
        facts.pod("report").status.phase == "Running",
        found=f"report is {facts.pod('report').status.phase}",
        expected="report running",
        hint="report was never started: do both requests together fit on the node?",
        credit=0.25,
    )
    facts.events("Evicted", "cache")
    facts.memory_usage(facts.pod("report"))


@checks.check("same")
def same(facts: Facts) -> None:
    for name, mebibytes in (("report", 200), ("cache", 700)):
        pod = facts.pod(name)
        container, work = pod.spec.containers[0], facts.work(pod, "main")
        facts.expect(
            work.split()[-1:] == [f"memory={mebibytes}Mi"],
            found=f"{name} does {work or 'nothing'!r}",
            expected=f"memory={mebibytes}Mi",
            hint="less work, less pressure: the question is who goes, not whether",
        )
        limit = container.resources.limits.get("memory")
        facts.expect(
            limit is None or limit.value() >= mebibytes * 2**20,
            found=f"{name} limited to {limit}",
            expected="room for its work",
            hint="a limit below the use makes the kernel kill it before the kubelet can evict",
            credit=0.5,
        )


@checks.observed("who", at_start=True)
def who(facts: Experiment) -> str:
    facts.let_pass(120)
    return "report" if evicted(facts, "report") else "cache" if evicted(facts, "cache") else "none"
