"""The reference solution, and what learners try first."""


def let_go(cluster, *names, gates=None):
    for name in names:
        pod = cluster.get("Pod", name, "default")
        pod.spec.scheduling_gates = [g for g in pod.spec.scheduling_gates if gates and g.name not in gates]
        cluster.apply(pod)
    cluster.advance(10)


def reference(cluster):
    let_go(cluster, "serve", "train")


def all_at_once(cluster):
    let_go(cluster, "serve", "train", "backfill")


def one_gate_of_two(cluster):
    let_go(cluster, "serve", gates=["example.com/budget"])
    let_go(cluster, "train")


def the_wrong_order(cluster):
    let_go(cluster, "train", "backfill")


wrong = {
    "a removed gate cannot be put back": all_at_once,
    "remove every gate of serve": one_gate_of_two,
    "order 1": the_wrong_order,
}
