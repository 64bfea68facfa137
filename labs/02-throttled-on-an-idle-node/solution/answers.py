"""The reference solution, and what learners try first."""

POD = """
apiVersion: v1
kind: Pod
metadata: {{name: api, labels: {{app: api}}}}
spec:
  containers:
  - name: main
    image: example/api:1
    command: {command}
    resources: {resources}
"""
WORK = "[stress-ng, --cpu, '1']"


def again(cluster, resources, command=WORK):
    cluster.delete("Pod", "api")
    cluster.apply(POD.format(resources=resources, command=command))
    cluster.advance(10)


def reference(cluster):
    again(cluster, "{requests: {cpu: 200m, memory: 64Mi}, limits: {memory: 64Mi}}")


def a_bigger_limit(cluster):
    again(cluster, "{requests: {cpu: 200m, memory: 64Mi}, limits: {cpu: 400m, memory: 64Mi}}")


def a_bigger_request(cluster):
    again(cluster, "{requests: {cpu: 200m, memory: 64Mi}, limits: {cpu: 200m, memory: 128Mi}}")


def no_request(cluster):
    again(cluster, "{limits: {memory: 64Mi}}")


def no_work(cluster):
    again(cluster, "{requests: {cpu: 200m, memory: 64Mi}, limits: {memory: 64Mi}}", "[sleep, infinity]")


wrong = {
    "a bigger limit is still a limit": a_bigger_limit,
    "which of the two, request or limit": a_bigger_request,
    "write requests.cpu": no_request,
    "the work must be done": no_work,
}
