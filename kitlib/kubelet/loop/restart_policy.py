"""Decides whether an ended container is started again: by its own rules, its own policy, else the pod's.

Source: pkg/api/v1/pod ContainerShouldRestart, FindMatchingContainerRestartRule; kubelet container
ShouldContainerBeRestarted; KEP-5307.
"""

from __future__ import annotations

from kitlib.api.container import Container, ContainerRestartRule
from kitlib.api.core import PodSpec
from kitlib.api.release import Release


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
        if action == "RestartAllContainers" and release.enabled("RestartAllContainersOnContainerExits"):
            return True
        policy = container.restart_policy
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


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
