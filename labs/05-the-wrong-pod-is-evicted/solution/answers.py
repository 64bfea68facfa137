"""The reference solution, and what learners try first."""

POD = """
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  labels: {{app: {name}}}
  annotations: {{kitlib.dev/workload.main: {work}}}
spec:
  restartPolicy: Never
  containers:
  - name: main
    image: example/{name}:1
    resources: {resources}
"""
REPORT, CACHE = "memory={0}", "20s; memory=700Mi"


def again(cluster, report, cache, work="200Mi"):
    for name in ("report", "cache"):
        cluster.delete("Pod", name)
    cluster.advance(5)
    cluster.apply(POD.format(name="report", work=REPORT.format(work), resources=report))
    cluster.apply(POD.format(name="cache", work=CACHE, resources=cache))
    cluster.advance(60)


def reference(cluster):
    again(cluster, "{requests: {cpu: 100m, memory: 225Mi}}", "{requests: {cpu: 100m, memory: 300Mi}}")


def only_waiting(cluster):
    cluster.advance(90)


def limits_only(cluster):
    again(
        cluster,
        "{requests: {cpu: 100m, memory: 225Mi}}",
        "{requests: {cpu: 100m, memory: 300Mi}, limits: {memory: 400Mi}}",
    )


def less_work(cluster):
    again(cluster, "{requests: {cpu: 100m, memory: 225Mi}}", "{requests: {cpu: 100m, memory: 300Mi}}", work="20Mi")


def both_exceed(cluster):
    again(cluster, "{requests: {cpu: 100m}}", "{requests: {cpu: 100m, memory: 690Mi}}")


wrong = {
    "pods above their request go first": only_waiting,
    "the kernel kill it before": limits_only,
    "who goes, not whether": less_work,
    "report requests nothing": both_exceed,
}
