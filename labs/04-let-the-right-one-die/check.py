"""batch was killed for want of memory, db was not, and the memory really ran out."""

from kitlib.lab import Checks, Experiment, Facts, Wrong

checks = Checks()


def killed(facts: Facts, name: str) -> bool:
    pod = facts.pod(name)
    for status in pod.status.container_statuses:
        for state in (status.state, status.last_state):
            if (state.get("terminated") or {}).get("reason") == "OOMKilled":
                return True
    return False


@checks.check("order")
def order(facts: Facts) -> None:
    db, batch = killed(facts, "db"), killed(facts, "batch")
    facts.kernel_log("node-1")
    if db:
        adjustment = facts.oom_score_adj("db")
        raise Wrong(
            f"db was killed (class {facts.pod('db').status.qos_class}, oom_score_adj {adjustment})",
            "batch killed, db running",
            "its adjustment is far from -997: what does a pod need to get that one?"
            if facts.pod("db").status.qos_class != "Guaranteed"
            else "Guaranteed does not help against its own limit: db uses 500 MB",
        )
    if not batch:
        raise Wrong(
            "nobody was killed",
            "batch killed when the memory is used up",
            "batch starts to grow after 20 s: lab.cluster.advance(60). Still nobody? Then the memory never ran out",
            credit=0.25,
        )
    facts.expect(
        facts.pod("db").status.phase == "Running",
        found=f"db is {facts.pod('db').status.phase}",
        expected="db running",
        hint="db must have been started: is its request bigger than the node?",
    )
    facts.memory_limit(facts.pod("db"))
    facts.process_score("db")


@checks.check("same")
def same(facts: Facts) -> None:
    for name, wanted in (("db", "memory=500Mi"), ("batch", "memory=600Mi")):
        work = facts.work(facts.pod(name), "main")
        facts.expect(
            work.split()[-1:] == [wanted],
            found=f"{name} does {work or 'nothing'!r}",
            expected=wanted,
            hint="smaller pods fit together, and the question goes away instead of being answered",
            credit=0.5 if name == "batch" else 0.0,
        )


@checks.observed("victim", at_start=True)
def victim(facts: Experiment) -> str:
    facts.let_pass(60)
    db, batch = killed(facts, "db"), killed(facts, "batch")
    return "both at once" if db and batch else "db" if db else "batch"
