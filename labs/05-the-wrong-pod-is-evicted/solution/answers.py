"""The reference solution, and what learners try first."""

POD = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}, labels: {{app: {name}}}}}
spec:
  restartPolicy: Never
  containers:
  - name: main
    image: example/{name}:1
    command: {command}
    resources: {resources}
"""
REPORT = "[stress-ng, --vm, '1', --vm-bytes, {0}, --vm-keep]"
CACHE = "[sh, -c, 'sleep 20; exec stress-ng --vm 1 --vm-bytes 1400M --vm-keep']"


def again(cluster, report, cache, work="400M"):
    for name in ("report", "cache"):
        cluster.delete("Pod", name)
    cluster.advance(15)
    cluster.apply(POD.format(name="report", command=REPORT.format(work), resources=report))
    cluster.apply(POD.format(name="cache", command=CACHE, resources=cache))
    cluster.advance(150)


def reference(cluster):
    again(cluster, "{requests: {cpu: 100m, memory: 450Mi}}", "{requests: {cpu: 100m, memory: 600Mi}}")


def only_waiting(cluster):
    cluster.advance(300)


def limits_only(cluster):
    again(
        cluster,
        "{requests: {cpu: 100m, memory: 450Mi}}",
        "{requests: {cpu: 100m, memory: 600Mi}, limits: {memory: 800Mi}}",
    )


def less_work(cluster):
    again(cluster, "{requests: {cpu: 100m, memory: 450Mi}}", "{requests: {cpu: 100m, memory: 600Mi}}", work="40M")


def both_exceed(cluster):
    again(cluster, "{requests: {cpu: 100m}}", "{requests: {cpu: 100m, memory: 1400Mi}}")


wrong = {
    "pods above their request go first": only_waiting,
    "the kernel kill it before": limits_only,
    "who goes, not whether": less_work,
    "report requests nothing": both_exceed,
}
