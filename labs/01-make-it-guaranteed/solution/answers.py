"""The reference solution, and what learners try first."""

POD = """
apiVersion: v1
kind: Pod
metadata: {{name: web, labels: {{app: web}}}}
spec:
  containers:
  - name: server
    image: example/server:1
    command: [sleep, infinity]
    resources: {server}
  - name: log
    image: example/log:1
    command: [sleep, infinity]
    resources: {log}
"""


def again(cluster, server, log, text=POD):
    cluster.delete("Pod", "web")
    cluster.apply(text.format(server=server, log=log))
    cluster.advance(5)


def reference(cluster):
    again(cluster, "{limits: {cpu: 500m, memory: 256Mi}}", "{limits: {cpu: 50m, memory: 32Mi}}")


def only_one_container(cluster):
    again(cluster, "{limits: {cpu: 500m, memory: 256Mi}}", "{}")


def requests_below_limits(cluster):
    again(
        cluster,
        "{requests: {cpu: 250m, memory: 128Mi}, limits: {cpu: 500m, memory: 256Mi}}",
        "{limits: {cpu: 50m, memory: 32Mi}}",
    )


def no_limits_at_all(cluster):
    again(cluster, "{}", "{}")


def the_log_is_gone(cluster):
    text = POD.split("  - name: log")[0]
    again(cluster, "{limits: {cpu: 500m, memory: 256Mi}}", "", text)


wrong = {
    "log is small, but it counts": only_one_container,
    "make each request equal to its limit": requests_below_limits,
    "the first to be killed": no_limits_at_all,
    "the team needs its logs": the_log_is_gone,
}
