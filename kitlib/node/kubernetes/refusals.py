"""Explanations of why a cluster does not start a node, from the API server's errors and the kubelet's reports.

Each sentence names the rule, quotes the cluster's message, and says what an administrator must grant.

Source: PodSecurity admission (k8s.io/pod-security-admission), ResourceQuota and LimitRanger admission, RBAC authorizer
messages; kubelet container state reasons (pkg/kubelet/images/types.go, kuberuntime), pod reasons (evicted, deadline).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kitlib.node.kubernetes.client import KubernetesError, RequestFailed

GRANTS = "kitlib workshop --namespace {namespace} prints the manifest that an administrator applies"
NEVER = ("ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "ImagePullBackOff", "RegistryUnavailable")
"""Reasons for which waiting for an image is useless; `ErrImagePull` is not one, since the kubelet retries the pull."""
BROKEN = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError", "CrashLoopBackOff")


def of_request(error: RequestFailed, node: str, namespace: str) -> KubernetesError:
    """Return the error of a rejected request for a node pod."""
    return KubernetesError(f"node {node}: {explained(error, namespace)}")


def explained(error: RequestFailed, namespace: str) -> str:
    """Return the rule that rejected a request, its message, and the remedy."""
    said, grants = error.message, GRANTS.format(namespace=namespace)
    if error.code == 0:
        return said
    if error.code == 401:
        return f"the cluster does not know who asks (401 Unauthorized): {said}; renew the credentials of the kubeconfig"
    if found := re.search(r"violates PodSecurity \"([^\"]+)\": (.*)", said, re.DOTALL):
        return (
            f"Pod Security {found[1]} of namespace {namespace} refuses the pod: {found[2]}. A node owns a cgroup tree, "
            f"which only the level privileged allows (pod-security.kubernetes.io/enforce: privileged): {grants}"
        )
    if "exceeded quota" in said or "failed quota" in said:
        return (
            f"the quota of namespace {namespace} refuses the pod: {said}. Ask for fewer or smaller nodes (cpus=, "
            f"memory=, requests=), close clusters, or have the ResourceQuota raised"
        )
    if found := re.search(r"User \"([^\"]*)\" cannot (\w+) resource \"([^\"]+)\"", said):
        return (
            f"RBAC: {found[1]} may not {found[2]} {found[3]} in namespace {namespace}: {said}. A Role must grant it: "
            f"{grants}"
        )
    if re.search(r"(maximum|minimum) .*(usage|limit|request)|LimitRange", said):
        return f"a LimitRange of namespace {namespace} refuses the pod: {said}. Set cpus=, memory= or requests= to fit"
    if "admission webhook" in said or "ValidatingAdmissionPolicy" in said:
        return f"an admission policy of the cluster refuses the pod: {said}. Its administrator must except {namespace}"
    if error.code == 404 and "namespaces" in said:
        return f"there is no namespace {namespace}: {said}; {grants}"
    if "is being terminated" in said:
        return f"namespace {namespace} is being deleted: {said}"
    if "serviceaccount" in said.lower() and "not found" in said:
        return f"namespace {namespace} has no default service account yet: {said}; try again in a moment"
    if error.code == 422:
        return f"the API server finds the pod invalid: {said}"
    return f"the API server refuses: {error}"


def missing_rights(missing: list[tuple[str, str]], namespace: str) -> KubernetesError:
    """Return the error of missing rights, each a verb and a resource."""
    text = ", ".join(f"{verb} {resource}" for verb, resource in missing)
    return KubernetesError(
        f"RBAC: you may not {text} in namespace {namespace}. A Role must grant it: {GRANTS.format(namespace=namespace)}"
    )


def of_pod(pod: Mapping[str, Any]) -> str:
    """Return why a pod can never run; "" = it may run."""
    status = pod.get("status") or {}
    if pod.get("metadata", {}).get("deletionTimestamp"):
        return "it was deleted while it started"
    for state, name in _states(status):
        reason, said = str(state.get("reason") or ""), str(state.get("message") or "")
        if name == "waiting" and reason in NEVER:
            return (
                f"its image cannot be pulled ({reason}): {said}. Push it to a registry that the cluster reaches "
                "(kitlib image build; docker tag; docker push) and name it: image= or KITLIB_NODE_IMAGE"
            )
        if name == "waiting" and reason in BROKEN:
            return f"its container cannot be made ({reason}): {said}"
        if name == "terminated":
            return f"its container ended with {state.get('exitCode')} ({reason}){f': {said}' if said else ''}"
    if status.get("phase") in ("Failed", "Succeeded"):
        reason, said = status.get("reason") or status["phase"], status.get("message") or "no message"
        return f"it ended ({reason}): {said}"
    return ""


def waits_for(pod: Mapping[str, Any]) -> str:
    """Return what a pending pod waits for, as reported by the scheduler and the kubelet."""
    status = pod.get("status") or {}
    for one in status.get("conditions") or ():
        if one.get("type") == "PodScheduled" and one.get("status") == "False":
            return f"no machine of the cluster takes it ({one.get('reason')}): {one.get('message')}"
    for state, _ in _states(status):
        if state.get("reason"):
            return f"{state['reason']}: {state.get('message') or 'the kubelet is at work'}"
    if not pod.get("spec", {}).get("nodeName"):
        return "no scheduler has looked at it"
    return "the kubelet has not reported yet"


def is_running(pod: Mapping[str, Any]) -> bool:
    """Return whether the pod's container runs, so that attach is possible."""
    return any(name == "running" for _, name in _states(pod.get("status") or {}))


def _states(status: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    for one in status.get("containerStatuses") or ():
        for name, state in (one.get("state") or {}).items():
            if isinstance(state, Mapping):
                yield state, name
