"""The file `cpu_manager_state`, from which a restarted kubelet restores the state of the CPU manager.

Since 1.34 the file holds the state as a JSON text and a checksum over that text.

Source: kubelet cpumanager/state checkpoint.go, state_checkpoint.go; checkpointmanager/checksum; util/hash
DeepHashObject.
"""

from __future__ import annotations

import json

from kitlib.kubelet.cm.cpumanager.state import CPUManagerError, CPUState
from kitlib.kubelet.util.cpuset import format_cpus, parse_cpus

FILE = "cpu_manager_state"
_OFFSET, _PRIME = 2166136261, 16777619


def dump_state(policy: str, state: CPUState) -> str:
    """Return the file's text for a policy ("none" or "static") and its state."""
    data: dict[str, object] = {"policyName": policy, "defaultCPUSet": format_cpus(state.default)}
    if state.assignments:
        data["entries"] = {
            uid: {name: format_cpus(cpus) for name, cpus in sorted(containers.items())}
            for uid, containers in sorted(state.assignments.items())
        }
    if state.pods:
        data["podEntries"] = {uid: {"cpuSet": format_cpus(cpus)} for uid, cpus in sorted(state.pods.items())}
    text = json.dumps(data, separators=(",", ":"))
    return json.dumps({"data": text, "checksum": checksum(text)}, separators=(",", ":"))


def load_state(text: str, policy: str) -> CPUState:
    """Return the state in a file's text; an empty text is an empty state.

    Raises:
        CPUManagerError: the file is corrupted or from another policy; the kubelet does not start.
    """
    if not text.strip():
        return CPUState()
    try:
        file = json.loads(text)
        body = file["data"]
        if checksum(body) != file.get("checksum"):
            raise _broken("checkpoint is corrupted")
        data = json.loads(body)
    except (ValueError, KeyError, TypeError) as error:
        raise _broken("checkpoint is corrupted") from error
    written = data.get("policyName", "")
    if written != policy:
        raise _broken(f'configured policy "{policy}" differs from state checkpoint policy "{written}"')
    try:
        state = CPUState(parse_cpus(data.get("defaultCPUSet", "")))
    except ValueError as error:
        raise _broken(f'could not parse default cpu set "{data["defaultCPUSet"]}": {error}') from error
    for uid, containers in data.get("entries", {}).items():
        for name, cpus in containers.items():
            try:
                state.assignments.setdefault(uid, {})[name] = parse_cpus(cpus)
            except ValueError as error:
                text = f'could not parse cpuset "{cpus}" for container "{name}" in pod "{uid}": {error}'
                raise _broken(text) from error
    for uid, entry in data.get("podEntries", {}).items():
        try:
            state.pods[uid] = parse_cpus(entry.get("cpuSet", ""))
        except ValueError as error:
            raise _broken(f'could not parse cpuset "{entry["cpuSet"]}" for pod "{uid}": {error}') from error
    return state


def checksum(data: str) -> int:
    """Return the checksum of the file's data: 32-bit FNV-1a."""
    # DeepHashObject hashes the output of Go's deep printer, which puts the type in front of the text.
    value = _OFFSET
    for byte in f"(string){data}".encode():
        value = (value ^ byte) * _PRIME & 0xFFFFFFFF
    return value


def _broken(why: str) -> CPUManagerError:
    return CPUManagerError(
        f"could not restore state from checkpoint: {why}, please drain this node and delete the CPU manager "
        f'checkpoint file "{FILE}" before restarting Kubelet'
    )
