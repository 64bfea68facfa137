"""The system calls that a pod's processes may make: the container runtimes' default list as an OCI seccomp section.

Other calls fail with EPERM: modules, mounts, namespaces, keyrings, bpf, perf, io_uring, userfaultfd, the clock, other
processes' memory. `clone` may create threads and processes but no namespace, so that no pod gets a user namespace in
which it is root. `clone3` passes its flags in memory, which the filter cannot read: it fails with ENOSYS, and libc
falls back to `clone`. `socket` allows every family except AF_VSOCK, which reaches the machine's hypervisor. Calls of
other architectures (32-bit ones on a 64-bit kernel) are no way around the filter: they kill the process.

Source: Docker's documentation "Seccomp security profiles for Docker"; containerd contrib/seccomp DefaultProfile; OCI
runtime-spec config-linux.md, seccomp.
"""

from __future__ import annotations

from typing import Any

EPERM, ENOSYS = 1, 38
AF_VSOCK = 40
NAMESPACES = 0x7E020000
"""CLONE_NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET."""
_PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)
"""Arguments of personality(2): Linux, its 32-bit and UTS26 variants, and the query of the current one (0xFFFFFFFF)."""

_FILES = """
access chdir chmod chown chown32 close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fadvise64
fadvise64_64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchown32 fchownat fcntl fcntl64 fdatasync fgetxattr
flistxattr flock fremovexattr fsetxattr fstat fstat64 fstatat64 fstatfs fstatfs64 fsync ftruncate ftruncate64 futimesat
getcwd getdents getdents64 getxattr ioctl lchown lchown32 lgetxattr link linkat listxattr llistxattr lremovexattr lseek
_llseek lsetxattr lstat lstat64 memfd_create mkdir mkdirat mknod mknodat name_to_handle_at newfstatat open openat
openat2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv removexattr rename
renameat renameat2 rmdir sendfile sendfile64 setxattr splice stat stat64 statfs statfs64 statx symlink symlinkat sync
sync_file_range sync_file_range2 syncfs tee truncate truncate64 umask unlink unlinkat utime utimensat utimensat_time64
utimes vmsplice write writev cachestat
"""
_EVENTS = """
epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old eventfd eventfd2
fanotify_mark inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents
io_pgetevents io_pgetevents_time64 io_setup io_submit pipe pipe2 poll ppoll ppoll_time64 pselect6 pselect6_time64 select
_newselect signalfd signalfd4 timerfd_create timerfd_gettime timerfd_gettime64 timerfd_settime timerfd_settime64
"""
_MEMORY = """
brk madvise membarrier mincore mlock mlock2 mlockall mmap mmap2 mprotect mremap msync munlock munlockall munmap
map_shadow_stack memfd_secret pkey_alloc pkey_free pkey_mprotect process_mrelease remap_file_pages
"""
_PROCESSES = """
alarm arch_prctl capget capset execve execveat exit exit_group fork futex futex_requeue futex_time64 futex_wait
futex_waitv futex_wake get_robust_list get_thread_area getcpu getegid getegid32 geteuid geteuid32 getgid getgid32
getgroups getgroups32 getpgid getpgrp getpid getppid getpriority getresgid getresgid32 getresuid getresuid32 getrlimit
getrusage getsid gettid getuid getuid32 ioprio_get ioprio_set kill landlock_add_rule landlock_create_ruleset
landlock_restrict_self modify_ldt nanosleep pause pidfd_open pidfd_send_signal prctl prlimit64 process_madvise ptrace
restart_syscall riscv_flush_icache riscv_hwprobe rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo
rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64 rt_tgsigqueueinfo s390_pci_mmio_read
s390_pci_mmio_write s390_runtime_instr sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr
sched_getparam sched_getscheduler sched_rr_get_interval sched_rr_get_interval_time64 sched_setaffinity sched_setattr
sched_setparam sched_setscheduler sched_yield seccomp set_robust_list set_thread_area set_tid_address set_tls setfsgid
setfsgid32 setfsuid setfsuid32 setgid setgid32 setgroups setgroups32 setpgid setpriority setregid setregid32 setresgid
setresgid32 setresuid setresuid32 setreuid setreuid32 setrlimit setsid setuid setuid32 sigaltstack sigprocmask sigreturn
swapcontext sysinfo tgkill tkill ugetrlimit uname vfork wait4 waitid waitpid
"""
_TIMES = """
clock_getres clock_getres_time64 clock_gettime clock_gettime64 clock_nanosleep clock_nanosleep_time64 getitimer
gettimeofday setitimer time timer_create timer_delete timer_getoverrun timer_gettime timer_gettime64 timer_settime
timer_settime64 times
"""
_SYSTEM_V = """
ipc mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 mq_unlink
msgctl msgget msgrcv msgsnd semctl semget semop semtimedop semtimedop_time64 shmat shmctl shmdt shmget
"""
_SOCKETS = """
accept accept4 bind connect getpeername getsockname getsockopt listen recv recvfrom recvmmsg recvmmsg_time64 recvmsg
send sendmmsg sendmsg sendto setsockopt shutdown socketpair
"""
_OTHERS = "adjtimex getrandom cacheflush breakpoint arm_fadvise64_64 arm_sync_file_range sync_file_range2 chroot"
ALLOWED = tuple(
    sorted(
        set(" ".join((_FILES, _EVENTS, _MEMORY, _PROCESSES, _TIMES, _SYSTEM_V, _SOCKETS, _OTHERS)).split())
        - {"chroot", "adjtimex"}  # with CAP_SYS_CHROOT and CAP_SYS_TIME only, which no pod has
    )
)


def _argument(index: int, value: int, operation: str, second: int = 0) -> dict[str, Any]:
    return {"index": index, "value": value, "valueTwo": second, "op": operation}


def profile() -> dict[str, Any]:
    """Return the `linux.seccomp` section of a container's config.json."""
    allow = "SCMP_ACT_ALLOW"
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": EPERM,
        "syscalls": [
            {"names": list(ALLOWED), "action": allow},
            {
                "names": ["clone"],
                "action": allow,
                "args": [_argument(0, NAMESPACES, "SCMP_CMP_MASKED_EQ", 0)],
            },
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": ENOSYS},
            {"names": ["socket"], "action": allow, "args": [_argument(0, AF_VSOCK, "SCMP_CMP_NE")]},
            *(
                {"names": ["personality"], "action": allow, "args": [_argument(0, value, "SCMP_CMP_EQ")]}
                for value in _PERSONALITIES
            ),
        ],
    }
