"""Runs inside a pod: tries to get out of it, more than 200 ways; prints one JSON line with the outcome of each.

An outcome is the name of the error, or "done" where nothing has refused it. Only the standard library is used, and only
what does nothing by itself even where it is allowed: the arguments point nowhere.
"""

import ctypes
import errno
import json
import os
import resource
import socket
import stat
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
SYSCALLS = {
    "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "bpf": 321,
    "userfaultfd": 323, "kexec_file_load": 320, "perf_event_open": 298, "fanotify_init": 300,
    "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308, "move_pages": 279, "migrate_pages": 256,
    "mbind": 237, "set_mempolicy": 238, "get_mempolicy": 239, "kexec_load": 246, "add_key": 248, "request_key": 249,
    "keyctl": 250, "unshare": 272, "pivot_root": 155, "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168,
    "reboot": 169, "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173, "create_module": 174,
    "init_module": 175, "delete_module": 176, "get_kernel_syms": 177, "query_module": 178, "quotactl": 179,
    "nfsservctl": 180, "lookup_dcookie": 212, "acct": 163, "settimeofday": 164, "chroot": 161, "vhangup": 153,
    "sysfs": 139, "uselib": 134, "ustat": 136, "_sysctl": 156, "syslog": 103, "clock_settime": 227,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_getfd": 438, "mount_setattr": 442,
    "quotactl_fd": 443, "set_mempolicy_home_node": 450, "clone3": 435, "adjtimex": 159,
}  # fmt: skip
NAMESPACES = {
    "mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000,
    "pid": 0x20000000, "net": 0x40000000, "time": 0x80,
}  # fmt: skip
WRITTEN = [
    "/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/panic", "/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max", "/proc/sys/kernel/sysrq",
    "/proc/sys/kernel/shmmax", "/proc/sys/kernel/randomize_va_space", "/proc/sys/kernel/kptr_restrict",
    "/proc/sys/kernel/dmesg_restrict", "/proc/sys/kernel/unprivileged_bpf_disabled", "/proc/sys/kernel/ns_last_pid",
    "/proc/sys/kernel/yama/ptrace_scope", "/proc/sys/kernel/core_uses_pid", "/proc/sys/kernel/keys/maxkeys",
    "/proc/sys/vm/overcommit_memory", "/proc/sys/vm/drop_caches", "/proc/sys/vm/panic_on_oom",
    "/proc/sys/vm/swappiness", "/proc/sys/vm/min_free_kbytes", "/proc/sys/vm/compact_memory",
    "/proc/sys/vm/nr_hugepages",
    "/proc/sys/vm/unprivileged_userfaultfd", "/proc/sys/vm/mmap_min_addr", "/proc/sys/fs/file-max",
    "/proc/sys/fs/protected_symlinks", "/proc/sys/fs/protected_hardlinks", "/proc/sys/fs/suid_dumpable",
    "/proc/sys/fs/binfmt_misc/register", "/proc/sys/fs/pipe-max-size", "/proc/sys/fs/inotify/max_user_watches",
    "/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/core/somaxconn", "/proc/sys/user/max_user_namespaces",
    "/proc/sys/user/max_pid_namespaces", "/proc/sys/user/max_mnt_namespaces", "/proc/sys/debug/exception-trace",
    "/proc/irq/0/smp_affinity", "/proc/bus/pci/00/00.0", "/proc/fs/ext4", "/proc/acpi/wakeup", "/proc/scsi/scsi",
    "/proc/timer_stats", "/proc/1/oom_score_adj/x", "/sys/kernel/uevent_helper",
    "/sys/kernel/mm/ksm/run", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/kernel/debug/sched_features",
    "/sys/kernel/debug/tracing/trace", "/sys/kernel/security/lockdown", "/sys/kernel/kexec_crash_size",
    "/sys/power/state", "/sys/power/disk", "/sys/module/kernel/parameters/x", "/sys/class/net/lo/mtu",
    "/sys/block/sda/queue/scheduler", "/sys/devices/system/cpu/cpu0/online", "/sys/firmware/efi/vars",
    "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/memory/release_agent",
    "/sys/fs/cgroup/memory/notify_on_release", "/sys/fs/cgroup/cpu/cpu.shares", "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/devices/devices.allow", "/sys/fs/cgroup/kubepods/cpu.weight", "/sys/fs/bpf/x", "/sys/fs/fuse/x",
    "/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/loop0",
    "/dev/loop-control", "/dev/fuse", "/dev/net/tun", "/dev/kvm", "/dev/vsock", "/dev/vhost-net", "/dev/vhost-vsock",
    "/dev/cpu/0/msr", "/dev/cpu_dma_latency", "/dev/hpet", "/dev/input/event0", "/dev/uinput", "/dev/mapper/control",
    "/dev/btrfs-control", "/dev/autofs", "/dev/rtc", "/dev/watchdog", "/dev/userfaultfd", "/dev/snapshot", "/dev/nvram",
    "/etc/passwd", "/etc/shadow", "/etc/ld.so.preload", "/etc/crontab", "/usr/bin/crun", "/usr/bin/python3", "/bin/sh",
    "/lib/x", "/root/x", "/var/lib/x", "/opt/x", "/x", "/boot/x", "/home/x", "/srv/x", "/mnt/x", "/proc/x",
]  # fmt: skip
READ = [
    "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/sched_debug", "/proc/scsi/scsi",
    "/proc/acpi/x", "/proc/asound/x", "/etc/shadow", "/run/kitlib/crun", "/run/kitlib/bundles", "/run/kitlib/volumes",
    "/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/crio/crio.sock",
    "/run/podman/podman.sock", "/run/dbus/system_bus_socket", "/run/systemd/private", "/sys/kernel/debug",
    "/sys/kernel/tracing/trace", "/sys/firmware/dmi/tables/DMI", "/sys/class/dmi/id/product_uuid", "/sys/fs/cgroup",
    "/sys/fs/pstore", "/dev/mem", "/dev/sda", "/dev/kmsg", "/proc/slabinfo", "/proc/vmallocinfo", "/proc/kpagecount",
    "/proc/kpageflags", "/root/.ssh",
]  # fmt: skip
INTO = {
    "/proc/self/uid_map": b"0 0 1", "/proc/self/gid_map": b"0 0 1", "/proc/self/setgroups": b"allow",
    "/proc/self/loginuid": b"0", "/proc/self/attr/current": b"unconfined", "/proc/self/attr/exec": b"unconfined",
}  # fmt: skip
CAPABILITY = b"\0\0\0\2" + b"\xff" * 16
RAW = {
    "raw ICMP": (socket.AF_INET, socket.SOCK_RAW, 1),
    "raw IP": (socket.AF_INET, socket.SOCK_RAW, 255),
    "packets": (socket.AF_PACKET, socket.SOCK_RAW, 0x300),
    "packets of a kind": (socket.AF_PACKET, socket.SOCK_DGRAM, 0x300),
    "vsock stream": (40, socket.SOCK_STREAM, 0),
    "vsock datagram": (40, socket.SOCK_DGRAM, 0),
}


def call(number, *arguments):
    ctypes.set_errno(0)
    if LIBC.syscall(ctypes.c_long(number), *(ctypes.c_long(one) for one in arguments)) < 0:
        raise OSError(ctypes.get_errno(), "")


def in_child(action):
    """In a process of its own: what it changes ends with it."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            action()
            os.write(writes, b"done")
        except OSError as error:
            os.write(writes, errno.errorcode.get(error.errno, str(error.errno)).encode())
        finally:
            os._exit(0)
    os.close(writes)
    said = os.read(reads, 100).decode()
    os.close(reads)
    os.waitpid(child, 0)
    return said or "killed"


def write(path):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC if path.endswith("/x") else os.O_WRONLY, 0o600))


def read(path):
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISDIR(os.fstat(opened).st_mode) and not os.read(opened, 1):
        raise OSError(errno.ENODATA, "")  # something empty lies over it
    if stat.S_ISDIR(os.fstat(opened).st_mode) and not os.listdir(opened):
        raise OSError(errno.ENODATA, "")


def write_into(path, text):
    opened = os.open(path, os.O_WRONLY)
    os.write(opened, text)


def raise_limit():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard + 1))
    except ValueError as error:
        raise OSError(errno.EPERM, "") from error


LOWER = "a lower oom_score_adj"


def lower_score():
    with open("/proc/self/oom_score_adj") as file:
        now = int(file.read())
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write(str(max(-1000, now - 1)))


def spared_score():
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("-1")


def probes():
    for name, number in SYSCALLS.items():
        yield f"system call {name}", lambda number=number: call(number, -1, 0, 0, 0, 0, 0)
    for name, flag in NAMESPACES.items():
        yield f"unshare {name}", lambda flag=flag: call(272, flag)
        if name != "time":
            yield f"clone {name}", lambda flag=flag: call(56, flag | 17, 0, 0, 0, 0)
    for name, arguments in RAW.items():
        yield f"socket {name}", lambda arguments=arguments: socket.socket(*arguments).close()
    for path in WRITTEN:
        yield f"write {path}", lambda path=path: write(path)
    for path in READ:
        yield f"read {path}", lambda path=path: read(path)
    for kind, name in ((stat.S_IFCHR, "character"), (stat.S_IFBLK, "block")):
        for device in ((1, 1), (1, 3), (8, 0), (10, 232)):
            yield f"mknod {name} {device}", lambda k=kind, d=device: os.mknod("/tmp/node", k | 0o600, os.makedev(*d))
    for path, text in INTO.items():
        yield f"write into {path}", lambda path=path, text=text: write_into(path, text)
    yield "setuid 0", lambda: os.setuid(0)
    yield "setgid 0", lambda: os.setgid(0)
    yield "setgroups 0", lambda: os.setgroups([0])
    yield "setresuid 0", lambda: os.setresuid(0, 0, 0)
    yield "nice -20", lambda: os.setpriority(os.PRIO_PROCESS, 0, -20)
    yield "real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    yield "a higher limit", raise_limit
    yield LOWER, lower_score
    yield "an oom_score_adj below 0", spared_score
    yield (
        "a file capability",
        lambda: (write_file(), os.setxattr("/tmp/cap", "security.capability", CAPABILITY)),
    )
    yield "a file of root's", lambda: (write_file(), os.chown("/tmp/cap", 0, 0))
    yield "leave the root", lambda: os.chroot("/tmp")
    yield "signal of another pod", lambda: os.kill(99999, 0)
    yield "a hard link to a program", lambda: os.link("/usr/bin/crun", "/tmp/crun")


def write_file():
    with open("/tmp/cap", "w") as file:
        file.write("x")


def status():
    with open("/proc/self/status") as file:
        said = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
    kept = ("NoNewPrivs", "Seccomp", "CapBnd", "CapEff", "CapPrm", "CapInh", "CapAmb", "Uid", "Groups")
    return {name: said.get(name, "").strip() for name in kept}


def label():
    try:
        with open("/proc/self/attr/current", "rb") as file:
            return file.read().rstrip(b"\0\n").decode()
    except OSError:
        return ""


def main():
    if status()["NoNewPrivs"] != "1":
        sys.exit("this is for the inside of a pod")
    outcomes = {name: in_child(action) for name, action in probes()}
    print(json.dumps({"status": status(), "label": label(), "probes": outcomes}))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
