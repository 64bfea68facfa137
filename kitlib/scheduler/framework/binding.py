"""The binding cycle of a pod that has a node: Reserve, Permit, PreBind, Bind and PostBind.

If a plugin refuses, Unreserve is called in the opposite order.

Source: schedule_one.go (assume, bindingCycle), framework runtime (RunReservePluginsReserve, RunPermitPlugins,
RunPreBindPlugins, RunBindPlugins).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kitlib.api.core import Node
from kitlib.scheduler.framework.framework import Framework
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import REJECTED, SUCCESS, Code, Status


@dataclass
class BindingProgress:
    """The progress of a pod's binding cycle.

    Attributes:
        info: the pod.
        node: the pod's node.
        asked: (extension point, plugin, answer) of each call, in order.
        status: Success = bound; Wait = a Permit or PreBind plugin holds the pod; anything else = refused.
        pre_bind: the index of the PreBind plugin that holds the pod; None = none does.
    """

    info: PodInfo
    node: Node
    asked: list[tuple[str, str, Status]] = field(default_factory=list)
    status: Status = SUCCESS
    pre_bind: int | None = None

    @property
    def waits(self) -> bool:
        """Whether a Permit or PreBind plugin holds the pod."""
        return self.status.code is Code.Wait


def reserve_and_permit(framework: Framework, binding: BindingProgress) -> None:
    """Run Reserve and Permit; a refusal undoes the reservations."""
    pod = binding.info.pod
    for plugin in framework.at("reserve"):
        if not plugin.concerns(pod):
            continue
        if not _ask(binding, "Reserve", plugin.name, plugin.reserve(binding.info, binding.node)):
            break
    held = None
    for plugin in framework.at("permit") if binding.status.ok else ():
        answer = plugin.permit(binding.info, binding.node)
        # the other plugins are asked even if one waits: a later refusal counts. Source: RunPermitPlugins
        if answer.code is Code.Wait:
            held = held or Status(Code.Wait, answer.reasons, plugin.name)
            binding.asked.append(("Permit", plugin.name, answer))
        elif not _ask(binding, "Permit", plugin.name, answer):
            break
    if not binding.status.ok:
        unreserve(framework, binding)
    elif held is not None:
        binding.status = held


def bind(framework: Framework, binding: BindingProgress, waited_ms: int = 0) -> None:
    """Run PreBind, Bind by the first plugin that does not skip, and PostBind.

    Args:
        framework: the pod's profile.
        binding: the pod's binding; one that a PreBind plugin holds continues at that plugin.
        waited_ms: milliseconds since that plugin began to wait.
    """
    first, binding.pre_bind, binding.status = binding.pre_bind, None, SUCCESS
    for place, plugin in enumerate(framework.at("pre_bind")):
        if place < (first or 0) or not plugin.concerns(binding.info.pod):
            continue
        # plugins before `first` have finished; `first` itself is asked whether its wait is over
        again = place == first
        if again:
            answer = plugin.pre_bind_again(binding.info, binding.node, waited_ms)
        else:
            answer = plugin.pre_bind(binding.info, binding.node)
        if answer.code is Code.Wait:
            binding.pre_bind, binding.status = place, Status(Code.Wait, answer.reasons, plugin.name)
            if not again:
                binding.asked.append(("PreBind", plugin.name, answer))
            return
        if not _ask(binding, "PreBind", plugin.name, answer):
            unreserve(framework, binding)
            return
    for plugin in framework.at("bind"):
        answer = plugin.bind(binding.info, binding.node)
        if answer.code is Code.Skip:
            continue
        if not _ask(binding, "Bind", plugin.name, answer):
            unreserve(framework, binding)
            return
        break
    else:
        _ask(binding, "Bind", "", Status(Code.Error, ("no plugin binds the pod",)))
        unreserve(framework, binding)
        return
    for plugin in framework.at("post_bind"):
        plugin.post_bind(binding.info, binding.node)
        binding.asked.append(("PostBind", plugin.name, SUCCESS))


def unreserve(framework: Framework, binding: BindingProgress) -> None:
    """Call Unreserve of every Reserve plugin, the last one first."""
    # also of plugins whose Reserve was not reached: Unreserve is idempotent. Source: RunReservePluginsUnreserve
    for plugin in reversed([p for p in framework.plugins if p.takes_part("reserve") or p.takes_part("unreserve")]):
        if not plugin.concerns(binding.info.pod):
            continue
        plugin.unreserve(binding.info, binding.node)
        binding.asked.append(("Unreserve", plugin.name, SUCCESS))


def _ask(binding: BindingProgress, point: str, plugin: str, answer: Status) -> bool:
    binding.asked.append((point, plugin, answer))
    if answer.code in REJECTED:
        binding.status = Status(answer.code, answer.reasons, plugin)
    elif not answer.ok:
        text = f'running {point} plugin "{plugin}": {answer.message}' if plugin else answer.message
        binding.status = Status(answer.code, (text,), plugin)
    return answer.ok
