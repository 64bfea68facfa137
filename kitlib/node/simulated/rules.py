"""The rules of cgroup files for a value alone: ranges, rounding, units, errors.

Each rule takes the written text and returns the stored value, or raises the error of the write. Rules that depend on
other files or cgroups (memsw and limit, a quota and the parent's) are in `relations.py`.

Sources: kernel/sched/core.c (cpu_shares_write_u64, tg_set_cfs_bandwidth, cpu_weight_write_u64, cpu_max_write),
mm/memcontrol*.c (page_counter_memparse), kernel/cgroup/pids.c, mm/hugetlb_cgroup.c, kernel/cgroup/cpuset*.c.
"""

from __future__ import annotations

import errno
import re

from kitlib.kubelet.cm.cgroup_tree import UNLIMITED_V1, huge_page_size
from kitlib.kubelet.cm.conversions import MAX_SHARES, MIN_SHARES
from kitlib.kubelet.util.cpuset import format_cpus

PAGE_SIZE = 4096
MIN_BANDWIDTH_USEC, MAX_PERIOD_USEC = 1_000, 1_000_000
MAX_BANDWIDTH_USEC = (1 << 44) - 1
PID_MAX_LIMIT = 4 * 1024 * 1024
_SUFFIX = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}
_SIZE = re.compile(r"(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)([KMGTPEkmgtpe]?)")
_NUMBER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
_LEADING = re.compile(r"\d+")
_REGION = re.compile(r"(\d+|N)(?:-(\d+|N)(?::(\d+|N)/(\d+|N))?)?")


class Refused(Exception):
    """A value that a rule rejects, with the error number and the reason."""

    def __init__(self, number: int, why: str) -> None:
        self.number, self.why = number, why
        super().__init__(why)


def _whole(text: str) -> int:
    """Parse a number as the kernel does: decimal, hexadecimal after 0x, octal after 0. Source: lib/kstrtox.c."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        raise Refused(errno.EINVAL, "not a whole number")
    sign, digits = found.groups()
    number = _figure(digits)
    return -number if sign == "-" else number


def _figure(digits: str) -> int:
    if digits[:2].lower() == "0x":
        return int(digits, 16)
    return int(digits, 8 if digits[0] == "0" else 10)


def unsigned(text: str) -> int:
    """Parse a number as `kstrtou64` does."""
    if text.strip().startswith("-"):
        raise Refused(errno.EINVAL, "not an unsigned number")
    number = _whole(text)
    if number >= 2**64:
        raise Refused(errno.ERANGE, "not an unsigned 64-bit number")
    return number


def signed(text: str) -> int:
    """Parse a number as `kstrtos64` does."""
    number = _whole(text)
    if not -(2**63) <= number < 2**63:
        raise Refused(errno.ERANGE, "not a signed 64-bit number")
    return number


def memparse(text: str) -> int:
    """Parse bytes with an optional suffix K, M, G, … (powers of 1024). Source: lib/cmdline.c memparse."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise Refused(errno.EINVAL, "not a size in bytes")
    return (_figure(found[1]) << _SUFFIX[found[2].upper()]) % 2**64


def shares(text: str) -> str:
    """Apply cpu.shares: clamped to 2 and 262144 without an error."""
    return str(min(max(unsigned(text), MIN_SHARES), MAX_SHARES))


def weight(text: str) -> str:
    """Apply cpu.weight: 1 to 10000, other values are out of range."""
    number = unsigned(text)
    if not 1 <= number <= 10_000:
        raise Refused(errno.ERANGE, "cpu.weight is 1 to 10000")
    return str(number)


NICE_WEIGHTS = (
    *(88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916),
    *(9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277),
    *(1024, 820, 655, 526, 423, 335, 272, 215, 172, 137),
    *(110, 87, 70, 56, 45, 36, 29, 23, 18, 15),
)
"""The scheduler's weight of nice -20 to 19. Source: kernel/sched/core.c sched_prio_to_weight."""


def nice_of_weight(weight: str) -> str:
    """Return the content of cpu.weight.nice for a cpu.weight: the nice value of the nearest weight.

    Source: kernel/sched/core.c cpu_weight_nice_read_s64, sched_weight_from_cgroup.
    """
    shares = (int(weight) * 1024 + 50) // 100
    nearest = min(range(40), key=lambda i: abs(NICE_WEIGHTS[i] - shares))
    return str(nearest - 20)


def weight_of_nice(text: str) -> str:
    """Return the cpu.weight that a write to cpu.weight.nice sets. Source: cpu_weight_nice_write_s64."""
    nice = signed(text)
    if not -20 <= nice <= 19:
        raise Refused(errno.ERANGE, "a nice value is -20 to 19")
    return str((NICE_WEIGHTS[nice + 20] * 100 + 512) // 1024)


def burst(text: str, quota: str) -> str:
    """Apply cpu.max.burst: microseconds, at most the quota. Source: tg_set_cfs_bandwidth.

    Args:
        text: the written text.
        quota: quota of cpu.max in microseconds; "max" = none.
    """
    number = unsigned(text)
    if quota != "max" and number > int(quota):
        raise Refused(errno.EINVAL, "a burst is at most the quota")
    return str(number)


def swappiness(text: str) -> str:
    """Apply memory.swappiness: 0 to 200. Source: mm/memcontrol-v1.c mem_cgroup_swappiness_write."""
    number = unsigned(text)
    if number > 200:
        raise Refused(errno.EINVAL, "swappiness is 0 to 200")
    return str(number)


def hierarchy(text: str) -> str:
    """Apply memory.use_hierarchy: always 1 since Linux 5.11. Source: mem_cgroup_hierarchy_write."""
    if unsigned(text) != 1:
        raise Refused(errno.EINVAL, "non-hierarchical mode is deprecated")
    return "1"


def freeze(text: str) -> str:
    """Apply cgroup.freeze: 0 only, since this model does not freeze processes."""
    if flag(text) == "1":
        raise Refused(errno.EOPNOTSUPP, "the simulated kernel does not freeze processes")
    return "0"


def quota_v1(text: str) -> str:
    """Apply cpu.cfs_quota_us: at least 1 ms; any negative number is -1, no limit."""
    number = signed(text)
    if number < 0:
        return "-1"
    return str(_quota(number))


def period(text: str) -> str:
    """Apply cpu.cfs_period_us: 1 ms to 1 s."""
    return str(_period(unsigned(text)))


def cpu_max(text: str, before: str) -> str:
    """Apply cpu.max: `max` or microseconds, and an optional period, which otherwise stays.

    Args:
        text: the written text.
        before: the previous content.
    """
    parts = text.split()
    if not parts:
        raise Refused(errno.EINVAL, "cpu.max takes a quota and a period")
    kept = before.split()[1]
    if parts[1:] and (digits := _LEADING.match(parts[1])):  # sscanf ignores the rest after the digits
        kept = str(_period(int(digits[0])))
    if parts[0] == "max":
        return f"max {kept}"
    digits = _LEADING.match(parts[0])
    if digits is None:
        raise Refused(errno.EINVAL, "a quota is max, or microseconds")
    return f"{_quota(int(digits[0]))} {kept}"


def _quota(number: int) -> int:
    if number < MIN_BANDWIDTH_USEC:
        raise Refused(errno.EINVAL, "a quota is at least 1 ms")
    if number > MAX_BANDWIDTH_USEC:
        raise Refused(errno.EINVAL, "the quota is too large")
    return number


def _period(number: int) -> int:
    if not MIN_BANDWIDTH_USEC <= number <= MAX_PERIOD_USEC:
        raise Refused(errno.EINVAL, "a period is 1 ms to 1 s")
    return number


def memory_v1(text: str) -> str:
    """Apply memory.limit_in_bytes: whole pages; -1 is no limit."""
    if text.strip() == "-1":
        return str(UNLIMITED_V1)
    return str(min(memparse(text) // PAGE_SIZE * PAGE_SIZE, UNLIMITED_V1))


def kernel_memory(text: str) -> str:
    """Apply memory.kmem.limit_in_bytes, which has no effect. Source: mem_cgroup_write (RES_LIMIT, _KMEM)."""
    memory_v1(text)
    return str(UNLIMITED_V1)


def memory_v2(text: str) -> str:
    """Apply memory.max and its siblings: whole pages; `max` is no limit."""
    if text.strip() == "max":
        return "max"
    pages = memparse(text) // PAGE_SIZE * PAGE_SIZE
    return "max" if pages >= UNLIMITED_V1 else str(pages)


def pids(text: str) -> str:
    """Apply pids.max: `max`, or 0 to 4194304."""
    if text.strip() == "max":
        return "max"
    number = signed(text)
    if not 0 <= number < PID_MAX_LIMIT + 1:
        raise Refused(errno.EINVAL, "pids.max is 0 to 4194304, or max")
    return str(number)


def flag(text: str) -> str:
    """Apply a switch: 0 or 1."""
    if signed(text) not in (0, 1):
        raise Refused(errno.EINVAL, "0 or 1 is expected")
    return str(signed(text))


def hugetlb(file: str, text: str, version: int) -> str:
    """Apply hugetlb.<size>.max: whole huge pages; on v2 the largest number is `max`."""
    size = huge_page_size(file.split(".")[1])
    stripped = text.strip()
    if stripped == ("-1" if version == 1 else "max"):
        limit = UNLIMITED_V1
    else:
        limit = min(memparse(stripped), UNLIMITED_V1)
    rounded = limit // size * size
    if version == 2 and rounded == UNLIMITED_V1 // size * size:
        return "max"
    return str(rounded)


def cpu_list(text: str, present: int) -> tuple[str, frozenset[int]]:
    """Parse cpuset.cpus, and return the list in the kernel's notation and the CPUs in it.

    Args:
        text: the list, such as `0-3,8`; "" = none.
        present: number of CPUs.
    """
    found = number_list(text, present, f"there are CPUs 0 to {present - 1}")
    return format_cpus(found), found


def number_list(text: str, bits: int, otherwise: str) -> frozenset[int]:
    """Parse `0-3,8`, `all`, or `0-N:1/2` (the first of every two); N is the largest number.

    Source: lib/bitmap.c bitmap_parselist.

    Args:
        text: the list.
        bits: upper bound of the numbers, exclusive.
        otherwise: message of the error for larger numbers.
    """
    found: set[int] = set()
    for part in text.replace(",", " ").split():
        region = _REGION.fullmatch("0-N" if part.lower() == "all" else part)
        if region is None:
            raise Refused(errno.EINVAL, "not a list of numbers and ranges")
        first, last, used, group = (
            None if one is None else bits - 1 if one == "N" else int(one) for one in region.groups()
        )
        assert first is not None
        last = first if last is None else last
        used, group = (1, 1) if used is None or group is None else (used, group)
        if first > last or group == 0 or used > group:
            raise Refused(errno.EINVAL, "a range runs upwards")
        if last >= bits:
            raise Refused(errno.ERANGE, otherwise)
        found.update(one for one in range(first, last + 1) if (one - first) % group < used)
    return frozenset(found)
