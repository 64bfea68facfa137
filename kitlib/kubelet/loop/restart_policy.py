"""The restart of ended containers: determined by a container's own rules, its own policy, or else the pod's policy.

Source: pkg/api/v1/pod ContainerShouldRestart, FindMatchingContainerRestartRule; kubelet container
ShouldContainerBeRestarted; KEP-5307.
"""

from __future__ import annotations

from kitlib.api.container import Container, ContainerRestartRule
from kitlib.api.core import PodSpec
from kitlib.api.release import Release

RESTART_ALL = "RestartAllContainers"
RESTART_ALL_GATE = "RestartAllContainersOnContainerExits"


def container_should_restart(container: Container, spec: PodSpec, exit_code: int, release: Release) -> bool:
    """Return whether an ended container of a pod is started again.

    Args:
        container: the ended container, with its rules and its policy.
        spec: the pod's specification.
        exit_code: the container's exit code.
        release: without the gate ContainerRestartRules only the pod's policy counts.
    """
    policy = spec.restart_policy
    if release.enabled("ContainerRestartRules") and container.restart_policy is not None:
        rule = matching_rule(container, exit_code)
        action = rule.action if rule is not None else ""
        if action == "Restart":
            return True
        if action == RESTART_ALL and release.enabled(RESTART_ALL_GATE):
            return True
        policy = container.restart_policy
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def restarts_all_containers(container: Container, exit_code: int, release: Release) -> bool:
    """Return whether the exit of a container restarts all containers of its pod.

    Source: kubelet container ShouldAllContainersRestart; KEP-5532.
    """
    if not container.restart_policy_rules or not release.enabled(RESTART_ALL_GATE):
        return False
    rule = matching_rule(container, exit_code)
    return rule is not None and rule.action == RESTART_ALL


def could_restart_all_containers(spec: PodSpec, release: Release) -> bool:
    """Return whether any rule of a pod restarts all of its containers. Source: AllContainersCouldRestart."""
    rules = [rule for container in (*spec.init_containers, *spec.containers) for rule in container.restart_policy_rules]
    return any(rule.action == RESTART_ALL for rule in rules) and release.enabled(RESTART_ALL_GATE)


def is_container_restartable(container: Container, spec: PodSpec, release: Release) -> bool:
    """Return whether a container may be started again after some exit code. Source: IsContainerRestartable."""
    if not release.enabled("ContainerRestartRules") or container.restart_policy is None:
        return spec.restart_policy != "Never"
    return container.restart_policy != "Never" or any(r.action == "Restart" for r in container.restart_policy_rules)


def matching_rule(container: Container, exit_code: int) -> ContainerRestartRule | None:
    """Return the first rule of a container that an exit code matches. Source: FindMatchingContainerRestartRule."""
    for rule in container.restart_policy_rules:
        codes = rule.exit_codes
        if codes is None or codes.operator not in ("In", "NotIn"):
            continue
        if (exit_code in codes.values) == (codes.operator == "In"):
            return rule
    return None
