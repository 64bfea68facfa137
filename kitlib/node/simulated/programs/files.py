"""Programs that read, write and remove files: cat, cp, dd, fallocate, ls, rm, test, touch, truncate and others.

Sources: POSIX.1-2017, XCU 4 Utilities; GNU coreutils and util-linux for `dd`, `fallocate`, `truncate`.
"""

from __future__ import annotations

import fnmatch
import re

from kitlib.node.simulated.programs.registry import COPY, copying, done, growing, options, program, size_of
from kitlib.node.simulated.shell.machine import FOREVER, Call, Data, NotFollowed, ProgramError, Result

BLOCK = 512
"""Default block size of dd in bytes."""
LARGE = 16 * 2**20
"""Minimum bytes of a buffer that counts as the program's memory."""


def _contents(call: Call, paths: list[str]) -> Result:
    """Return the concatenation of files; standard input if no file is named."""
    out, err = Data(), ""
    if not paths:
        return Result(call.stdin)
    for path in paths:
        try:
            out = out.plus(call.stdin if path == "-" else call.machine.read(path))
        except ProgramError as error:
            err += f"{call.name}: can't open '{path}': {error}\n"
    return Result(out, err, 1 if err else 0)


@program("cat", "tac")
def cat(call: Call) -> Result:
    """Pass files on; a large one takes time."""
    result = _contents(call, options(call)[1])
    if result.out.size != FOREVER:  # the duration of an endless stream depends on its reader
        copying(call.machine, result.out.more)
    return result


@program("head")
def head(call: Call) -> Result:
    """Return the first lines, or bytes with -c."""
    found, paths = options(call, "nc", ("bytes", "lines"))
    result = _contents(call, paths)
    count = found.get("c", found.get("bytes"))
    if count is not None:
        return result._replace(out=result.out.first(size_of(count, decimal=True)))
    number = int(found.get("n", found.get("lines", "10")) or 10)
    if result.out.size == FOREVER and not result.out.text:  # the line never ends
        growing(call.machine, FOREVER)
    return result._replace(out=Data("".join(result.out.text.splitlines(keepends=True)[:number])))


@program("tail")
def tail(call: Call) -> Result:
    """Return the last lines; with -f it never exits, and a stream without lines is kept in memory."""
    found, paths = options(call, "nc", ("bytes", "lines"))
    result = _contents(call, [path for path in paths if path != "/dev/null"] or (["/dev/null"] if paths else []))
    if "f" in found or "F" in found or "follow" in found:
        call.machine.spend(FOREVER)
    if result.out.size == FOREVER:
        growing(call.machine, FOREVER)
    if paths:
        copying(call.machine, result.out.more)
    else:  # a pipe's unknown rest may be part of the last lines: it is kept in memory
        growing(call.machine, result.out.more)
    count = int(found.get("n", found.get("lines", "10")).lstrip("+-") or 10)
    return result._replace(out=Data("".join(result.out.text.splitlines(keepends=True)[-count:])))


@program("tee")
def tee(call: Call) -> Result:
    """Write standard input to files and pass it on."""
    found, paths = options(call)
    for path in paths:
        call.machine.write(path, call.stdin, append="a" in found)
    return Result(call.stdin)


@program("cp", "mv", "install")
def cp(call: Call) -> Result:
    """Copy files; mv removes the source."""
    paths = options(call)[1]
    if len(paths) < 2:
        raise ProgramError("missing file operand")
    *sources, target = paths
    for source in sources:
        into = call.machine.listing(target) is not None
        name = f"{target.rstrip('/')}/{source.rpartition('/')[2]}" if into else target
        call.machine.write(name, call.machine.read(source), copied=call.name != "mv")
        if call.name == "mv":
            call.machine.remove(source)
    return Result()


@program("dd")
def dd(call: Call) -> Result:
    """Copy `count=` blocks of `bs=` bytes from `if=` to `of=`; without count, all blocks."""
    words = dict(word.partition("=")[::2] for word in call.args)
    block = size_of(words.get("bs") or words.get("ibs") or str(BLOCK), decimal=True)
    if block >= LARGE:
        call.machine.spend(block / COPY, cpus=1.0, memory=block)
    source = call.machine.read(words["if"]) if "if" in words else call.stdin
    size: float = FOREVER
    if "count" in words:
        count = size_of(words["count"])
        size = count if "count_bytes" in words.get("iflag", "") else count * block
    data, target = source.first(size), words.get("of")
    if target is None:
        return Result(data, "", 0)
    append = "append" in words.get("oflag", "") or "notrunc" in words.get("conv", "")
    if "seek" in words and not data.size:  # creates a sparse file, which uses no blocks
        call.machine.write(target, Data(), append=append)
        return Result()
    call.machine.write(target, data, append=append)
    return Result(err=f"{int(data.size) // max(block, 1)}+0 records out\n")


@program("fallocate")
def fallocate(call: Call) -> Result:
    """Give a file blocks without writing them: disk, no page cache; in a tmpfs memory."""
    found, paths = options(call, "lo", ("length", "offset"))
    length = found.get("l", found.get("length"))
    if length is None or not paths:
        raise ProgramError("no length argument specified")
    call.machine.write(paths[0], Data("", size_of(length, decimal=True)), copied=False)
    return Result()


@program("truncate")
def truncate(call: Call) -> Result:
    """Set a file's length; it gets no blocks, so that neither disk nor memory is used."""
    for path in options(call, "s", ("size",))[1]:
        call.machine.write(path, Data(), append=True, copied=False)
    return Result()


@program("touch")
def touch(call: Call) -> Result:
    """Make files that are not there."""
    for path in options(call, "dtr")[1]:
        call.machine.write(path, Data(), append=True)
    return Result()


@program("rm", "unlink", "rmdir")
def rm(call: Call) -> Result:
    """Remove files."""
    found, paths = options(call)
    err = ""
    for path in paths:
        if "f" not in found and not call.machine.exists(path):
            err += f"{call.name}: can't remove '{path}': No such file or directory\n"
        call.machine.remove(path)
    return Result(err=err, code=1 if err else 0)


@program("ls")
def ls(call: Call) -> Result:
    """List the names in directories, one per line."""
    out, err = "", ""
    for path in options(call)[1] or ["/"]:
        names = call.machine.listing(path)
        if names is not None:
            out += "".join(f"{name}\n" for name in names)
        elif call.machine.exists(path):
            out += f"{path}\n"
        else:
            err += f"ls: {path}: No such file or directory\n"
    return Result(Data(out), err, 1 if err else 0)


@program("stat")
def stat(call: Call) -> Result:
    """Return whether files are there."""
    missing = [path for path in options(call, "c")[1] if not call.machine.exists(path)]
    err = "".join(f"stat: can't stat '{path}': No such file or directory\n" for path in missing)
    return Result(err=err, code=1 if err else 0)


@program("[[")
def bash_test(call: Call) -> Result:
    """Evaluate a condition of bash: as `test` does, with patterns, `=~`, `&&` and `||`."""
    joints = {"&&": "-a", "||": "-o"}
    words = [joints.get(word, word) for word in call.args if word not in ("(", ")")]
    if words[-1:] != ["]]"]:
        raise ProgramError("missing ]]", 2)
    return Result(code=0 if _any(call, words[:-1], patterns=True) else 1)


@program("test", "[")
def test(call: Call) -> Result:
    """Evaluate a condition: files, strings, numbers, `!`, `-a`, `-o`."""
    words = list(call.args)
    if call.name == "[":
        if words[-1:] != ["]"]:
            raise ProgramError("missing ]", 2)
        words.pop()
    return Result(code=0 if _any(call, words) else 1)


def _any(call: Call, words: list[str], *, patterns: bool = False) -> bool:
    for joint, every in (("-o", False), ("-a", True)):
        if joint in words[1:-1]:
            at = words.index(joint, 1)
            left, right = (_any(call, some, patterns=patterns) for some in (words[:at], words[at + 1 :]))
            return left and right if every else left or right
    if words[:1] == ["!"]:
        return not _any(call, words[1:], patterns=patterns)
    if len(words) == 3:
        return _matched(*words) if patterns else _compared(*words)
    if len(words) == 2:
        operator, value = words
        if operator in ("-n", "-z"):
            return bool(value) == (operator == "-n")
        if operator == "-d":
            return call.machine.listing(value) is not None
        if operator == "-s":
            return call.machine.exists(value) and call.machine.read(value).size > 0
        return call.machine.exists(value)
    return bool(words and words[0])


def _matched(left: str, operator: str, right: str) -> bool:
    if operator == "=~":
        try:
            return re.search(right, left) is not None
        except re.error:
            raise NotFollowed(f"regular expression {right[:40]!r}") from None
    if operator in ("=", "==", "!="):
        return fnmatch.fnmatchcase(left, right) == (operator != "!=")
    if operator in ("<", ">"):
        return left < right if operator == "<" else left > right
    return _compared(left, operator, right)


def _compared(left: str, operator: str, right: str) -> bool:
    if operator in ("=", "=="):
        return left == right
    if operator == "!=":
        return left != right
    try:
        a, b = int(left), int(right)
    except ValueError:
        raise ProgramError(f"{left}: bad number", 2) from None
    return {"-eq": a == b, "-ne": a != b, "-lt": a < b, "-le": a <= b, "-gt": a > b, "-ge": a >= b}.get(operator, False)


@program("mkdir", "chmod", "chown", "ln", "sync", "mknod", "umount", "mkfifo")
def quiet(call: Call) -> Result:
    """Run programs that change nothing that is simulated."""
    return done()


@program("mount")
def mount(call: Call) -> Result:
    """List the mounts that the machine shows, those of one type with -t; with operands, change nothing."""
    found, operands = options(call, "to")
    if operands or not call.machine.exists("/proc/mounts"):
        return done()
    mounts = [line.split() for line in call.machine.read("/proc/mounts").text.splitlines()]
    listed = [one for one in mounts if found.get("t", one[2]) == one[2]]
    return done("".join(f"{source} on {place} type {kind} ({how})\n" for source, place, kind, how, *_ in listed))
