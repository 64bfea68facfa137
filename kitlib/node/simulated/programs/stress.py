"""Load generators: stress, stress-ng, vish/stress, and kubernetes' resource-consumer without requests.

Sources: stress(1), stress-ng(1), github.com/vishh/stress (README), read as documented.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kitlib.api.resource import Quantity
from kitlib.node.common.workload import IDLE_MEMORY, parse_seconds
from kitlib.node.simulated.programs.registry import COPY, GO_EXIT, growing, program, size_of
from kitlib.node.simulated.shell.machine import FOREVER, Call, ChildKilled, Data, NotFollowed, ProgramError, Result

_SHORT = {"-c": "cpu", "-l": "cpu-load", "-m": "vm", "-t": "timeout", "-d": "hdd", "-i": "io"}
DEFAULT_VM, DEFAULT_HDD = "256m", "1g"
"""Default bytes of a worker of --vm and --hdd."""


def _options(words: Sequence[str]) -> dict[str, str]:
    """Return long and short options; one that is followed by another option has no value."""
    found, rest = dict[str, str](), list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        key = _SHORT.get(name, name.lstrip("-"))
        if not equals:
            value = rest.pop(0) if rest and not rest[0].startswith("-") else ""
        found[key] = value
    return found


def _number(text: str) -> float:
    try:
        return float(text or 1)
    except ValueError:
        return 1.0


def _bytes(text: str, call: Call) -> int:
    """Return an amount of memory in bytes; a percentage refers to the whole machine's, as a container sees it."""
    if not text.endswith("%"):
        return size_of(text)
    try:
        total = re.search(r"MemTotal:\s*(\d+) kB", call.machine.read("/proc/meminfo").text)
    except ProgramError:
        total = None
    if total is None:
        raise NotFollowed(f"{text} of a machine whose memory is not known")
    return int(int(total[1]) * 1024 * _number(text[:-1]) / 100)


def _load(call: Call, options: Mapping[str, str], *, each: bool) -> Result:
    """Return the load of the options; `each`: --vm-bytes is per worker (stress), else for all together (stress-ng)."""
    busy = _number(options.get("cpu", "0"))
    cpus = busy * _number(options.get("cpu-load", "100")) / 100
    memory, workers = IDLE_MEMORY, _number(options.get("vm", "0"))
    if workers:
        memory += int(_bytes(options.get("vm-bytes") or DEFAULT_VM, call) * (workers if each else 1))
        cpus += 0.0 if "vm-hang" in options else workers
    disks, io = _number(options.get("hdd", "0")), _number(options.get("io", "0"))
    if disks:
        size = int(size_of(options.get("hdd-bytes") or DEFAULT_HDD) * (disks if each else 1))
        call.machine.write("/tmp/stress.hdd", Data("", size), append=True, copied=False)
        cpus += disks * 0.2
    seconds = parse_seconds(options["timeout"]) if options.get("timeout") else FOREVER
    # the parent, one process a worker, and for memory stress-ng has one more that may be killed in its place
    pids = 1 + int(busy + workers * (1 if each else 2) + disks + io + _number(options.get("fork", "0")) * 2)
    try:
        call.machine.spend(seconds or FOREVER, cpus=cpus, memory=memory, pids=pids)
    except ChildKilled:
        if not each or not workers:
            raise
        # stress ends when a worker dies; stress-ng, which starts another one, counts as killed
        return Result(err=f"{call.name}: FAIL: [1] (415) <-- worker 7 got signal 9\n", code=1)
    return Result()


@program("stress-ng", on_sigterm=0)
def stress_ng(call: Call) -> Result:
    """Run --cpu N [--cpu-load P], --vm N --vm-bytes B, --hdd N, --timeout T; the workers share --vm-bytes."""
    return _load(call, _options(call.args), each=False)


@program("stress")
def stress(call: Call) -> Result:
    """Run -c N, --vm N --vm-bytes B [--vm-hang S], -d N, -t T; each worker takes --vm-bytes.

    With the arguments of vish/stress (`-cpus`, `-mem-total`) it runs that program.
    """
    options = _options(call.args)
    if {"cpus", "mem-total"} & options.keys():
        return vish(call)
    return _load(call, options, each=True)


@program("/stress", on_sigterm=GO_EXIT)
def vish(call: Call) -> Result:
    """Run vish/stress: -cpus N, -mem-total B in portions of -mem-alloc-size with -mem-alloc-sleep between them."""
    options = _options(call.args)
    cpus = _number(options.get("cpus", "0")) if "cpus" in options else 0.0
    total = Quantity(options.get("mem-total") or "0").value()
    portion = max(Quantity(options.get("mem-alloc-size") or "4Ki").value(), total // 200, 1)
    pause = parse_seconds(options.get("mem-alloc-sleep", "1ms")) + portion / COPY
    held = 0
    while held < total:
        held = min(held + portion, total)
        call.machine.spend(pause, cpus=cpus, memory=IDLE_MEMORY + held, pids=1 + int(cpus))
    call.machine.spend(FOREVER, cpus=cpus, memory=IDLE_MEMORY + held, pids=1 + int(cpus))
    return Result()


@program("memhog")
def memhog(call: Call) -> Result:
    """Run numactl's memhog: it fills SIZE, -r times, and exits."""
    rounds = 1.0
    for word in call.args:
        if word.startswith("-r"):
            rounds = _number(word[2:])
        elif not word.startswith("-"):
            size = size_of(word)
            held = growing(call.machine, size)
            call.machine.spend((rounds - 1) * size / COPY, cpus=1.0, memory=held)
            return Result()
    raise ProgramError("usage: memhog [-rN] SIZE")


@program("consumer", "resource-consumer", on_sigterm=GO_EXIT)
def consumer(call: Call) -> Result:
    """Run Kubernetes' resource-consumer, which uses nothing before it receives a request."""
    call.machine.spend(FOREVER)
    return Result()
