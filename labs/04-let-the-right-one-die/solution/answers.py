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
  {more}
  containers:
  - name: main
    image: example/{name}:1
    resources: {resources}
"""
DB, BATCH = "memory=500Mi", "20s; memory={0}"


def again(cluster, db, batch="{requests: {cpu: 100m, memory: 100Mi}}", work="600Mi", more="dnsPolicy: Default"):
    for name in ("db", "batch"):
        cluster.delete("Pod", name)
    cluster.apply(POD.format(name="db", work=DB, resources=db, more=more))
    cluster.advance(5)
    cluster.apply(POD.format(name="batch", work=BATCH.format(work), resources=batch, more=more))
    cluster.advance(90)


def reference(cluster):
    again(cluster, "{limits: {cpu: 100m, memory: 640Mi}}")


def only_waiting(cluster):
    cluster.advance(300)


def a_tight_limit(cluster):
    again(cluster, "{limits: {cpu: 100m, memory: 400Mi}}")


def less_work(cluster):
    again(cluster, "{limits: {cpu: 100m, memory: 640Mi}}", work="100Mi")


def a_priority(cluster):
    again(
        cluster,
        "{requests: {cpu: 100m, memory: 16Mi}}",
        batch="{requests: {cpu: 100m, memory: 300Mi}}",
        more="priorityClassName: precious",
    ) if cluster.apply(
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: precious}\nvalue: 1000\n"
    ) is not False else None


wrong = {
    "its adjustment is far from -997": only_waiting,
    "Guaranteed does not help against its own limit": a_tight_limit,
    "the question goes away": less_work,
    "what does a pod need to get that one": a_priority,
}
