"""The first two by order run; the third is still gated; the budget holds."""

from kitlib.lab import Checks, Facts

checks = Checks()
BUDGET_MILLI = 2000


@checks.check("next")
def who_is_next(facts: Facts) -> None:
    backfill = facts.pod("backfill")
    for name in ("serve", "train"):
        pod = facts.pod(name)
        left = [gate.name for gate in pod.spec.scheduling_gates]
        facts.expect(
            not left,
            found=f"{name} still waits at {', '.join(left)}",
            expected="serve and train running",
            hint=f"order {pod.metadata.annotations.get('example.com/order')}: remove every gate of {name}",
            credit=0.5 if name == "train" else 0.0,
        )
        facts.expect(
            pod.status.phase == "Running",
            found=f"{name} is {pod.status.phase or 'not scheduled yet'}",
            expected="running",
            hint="the scheduler needs a moment: lab.cluster.advance(10)",
            credit=0.5,
        )
    facts.expect(
        bool(backfill.spec.scheduling_gates),
        found="backfill has no gate any more",
        expected="backfill gated: it is third",
        hint="there was a budget for two jobs; a removed gate cannot be put back, so lab.reset()",
        credit=0.5,
    )


@checks.check("budget")
def budget(facts: Facts) -> None:
    let_go = [pod for pod in facts.pods("default", {"team": "ml"}) if not pod.spec.scheduling_gates]
    requested = sum(c.resources.requests["cpu"].milli_value() for pod in let_go for c in pod.spec.containers)
    facts.expect(
        requested <= BUDGET_MILLI,
        found=f"{requested}m of CPU let go by {', '.join(pod.metadata.name for pod in let_go)}",
        expected=f"at most {BUDGET_MILLI}m",
        hint="the order decides who goes, the budget decides how many",
    )
    facts.expect(requested > 0, found="nobody was let go", expected="the budget in use", hint="see the first task")


@checks.observed("reason", at_start=True)
def reason(facts: Facts) -> str:
    conditions = facts.pod("serve").status.conditions
    return next((c.reason for c in conditions if c.type == "PodScheduled"), "")
