/* Preloaded into User Mode Linux: PTRACE_SETREGSET of vector registers that may be shorter than the host's.
 *
 * The host's kernel takes NT_X86_XSTATE in full length only (xstateregs_set answers EFAULT to anything else). User Mode
 * Linux 6.1 knows 2,696 bytes of it; a processor with tile registers (AMX) has 11,008. What is missing is filled in with
 * the process's own state, which User Mode Linux never touches.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char whole[1 << 16];

static long set_xstate(long pid, struct iovec *given)
{
	struct iovec all = { whole, sizeof whole };

	if (syscall(SYS_ptrace, PTRACE_GETREGSET, pid, NT_X86_XSTATE, &all) < 0)
		return -1;
	if (given->iov_len >= all.iov_len)
		return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, NT_X86_XSTATE, given);
	memcpy(whole, given->iov_base, given->iov_len);
	return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, NT_X86_XSTATE, &all);
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list more;
	long pid, word;
	void *address, *data;

	va_start(more, request);
	pid = va_arg(more, pid_t);
	address = va_arg(more, void *);
	data = va_arg(more, void *);
	va_end(more);
	if (request == PTRACE_SETREGSET && (long)address == NT_X86_XSTATE)
		return set_xstate(pid, data);
	if (request >= PTRACE_PEEKTEXT && request <= PTRACE_PEEKUSER) { /* glibc returns the word, the kernel stores it */
		if (syscall(SYS_ptrace, request, pid, address, &word) < 0)
			return -1;
		errno = 0;
		return word;
	}
	return syscall(SYS_ptrace, request, pid, address, data);
}
