"""Programs that produce, copy and count text, and programs that describe the system.

Source: POSIX.1-2017, XCU 4 Utilities.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable

from kitlib.node.simulated.programs.registry import copying, done, growing, options, program
from kitlib.node.simulated.shell.machine import FOREVER, KEPT_TEXT, Call, Data, NotFollowed, ProgramError, Result

_EXPR: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda a, b: int(a / b),
    "%": lambda a, b: int(math.fmod(a, b)) if b else a // b,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "0": "\0"}


def _escaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), text)


@program("echo")
def echo(call: Call) -> Result:
    """Write the words."""
    words, end, escapes = list(call.args), "\n", False
    while words and re.fullmatch("-[neE]+", words[0]):
        option = words.pop(0)
        end = "" if "n" in option else end
        escapes = escapes or "e" in option
    text = " ".join(words)
    return done((_escaped(text) if escapes else text) + end)


@program("printf")
def printf(call: Call) -> Result:
    """Write the words in a format; `%0500d` makes that many characters."""
    if not call.args:
        raise ProgramError("usage: printf FORMAT [ARG]...", 2)
    words = list(call.args[1:])
    width = re.search(r"%-?0?(\d{1,12})[sd]", call.args[0])
    if width is not None and int(width[1]) > KEPT_TEXT:
        return Result(Data("", float(width[1])))
    text = re.sub(r"%[-0-9.]*[sdiuxc]", lambda _: words.pop(0) if words else "", _escaped(call.args[0]))
    return done(text.replace("%%", "%"))


@program("yes")
def yes(call: Call) -> Result:
    """Write a line endlessly."""
    line = " ".join(call.args or ["y"]) + "\n"
    return Result(Data(line * 2, FOREVER))


@program("seq")
def seq(call: Call) -> Result:
    """Write numbers, one per line."""
    numbers = [int(float(word)) for word in options(call, "sw")[1]] or [0]
    first, step, last = (
        (numbers[0], numbers[1], numbers[2])
        if len(numbers) > 2
        else ((numbers[0], 1, numbers[1]) if len(numbers) == 2 else (1, 1, numbers[0]))
    )
    found = range(first, last + (1 if step > 0 else -1), step or 1)
    return done("".join(f"{one}\n" for one in found[:20_000]))


@program("true", ":")
def true(call: Call) -> Result:
    """Succeed."""
    return Result()


@program("false")
def false(call: Call) -> Result:
    """Fail."""
    return Result(code=1)


@program("exit")
def leave(call: Call) -> Result:
    """Exit with a code; not a program: an exec probe's `exit 3` without a shell is taken as one."""
    return Result(code=int(call.args[0]) & 255 if call.args and call.args[0].isdigit() else 0)


@program("tr")
def tr(call: Call) -> Result:
    """Replace or delete characters in the known beginning of the text; the rest keeps its size."""
    found, sets = options(call)
    source = _escaped(sets[0]) if sets else ""
    target = "" if "d" in found else _escaped(sets[1]) if len(sets) > 1 else source
    table = {ord(one): (target[min(at, len(target) - 1)] if target else None) for at, one in enumerate(source)}
    ranged = any(mark in source for mark in ("[", "-")) or "c" in found or "s" in found
    return Result(call.stdin if ranged else call.stdin._replace(text=call.stdin.text.translate(table)))


@program("awk", "gawk", "mawk")
def awk(call: Call) -> Result:
    """Pass text through; a program with BEGIN or a loop is not followed."""
    script = next(iter(options(call, "Fvf")[1]), "")
    if "BEGIN" in script or "while" in script or "for" in script:
        raise NotFollowed(f"awk {script[:40]!r}")
    return Result(call.stdin)


@program("expr")
def expr(call: Call) -> Result:
    """Calculate or compare: `expr 1 + 2`, `expr length TEXT`."""
    words = list(call.args)
    if words[:1] == ["length"] and len(words) == 2:
        return done(f"{len(words[1])}\n", 0 if words[1] else 1)
    if len(words) != 3 or words[1] not in _EXPR:
        raise NotFollowed(f"expr {' '.join(words)[:40]!r}")
    try:
        value = int(_EXPR[words[1]](int(words[0]), int(words[2])))
    except ValueError:
        raise ProgramError("non-integer argument", 2) from None
    except ZeroDivisionError:
        raise ProgramError("division by zero", 2) from None
    return done(f"{value}\n", 0 if value else 1)


@program("sed", "cut", "rev", "base64", "od", "hexdump", "xxd", "fold", "iconv", "paste", "uniq")
def passing(call: Call) -> Result:
    """Pass text through: its size stays, its content is not followed."""
    return Result(call.stdin)


@program("sort", "shuf", "sponge")
def sort(call: Call) -> Result:
    """Sort the input, which is kept in memory until it ends."""
    data = call.stdin
    if data.size >= 2**20:
        growing(call.machine, data.size)
    return Result(data._replace(text="".join(sorted(data.text.splitlines(keepends=True)))))


@program("wc")
def wc(call: Call) -> Result:
    """Count lines, words and bytes."""
    found, paths = options(call)
    data = call.machine.read(paths[0]) if paths else call.stdin
    copying(call.machine, data.size)
    counts = {"l": data.text.count("\n"), "w": len(data.text.split()), "c": int(data.size)}
    shown = [str(counts[letter]) for letter in "lwc" if letter in found or not found]
    return done(" ".join([*shown, *paths[:1]]) + "\n")


@program("grep", "egrep", "fgrep")
def grep(call: Call) -> Result:
    """Write matching lines; an endless line is kept in memory, as grep searches for its end."""
    found, words = options(call, "eABCm")
    if "e" in found:
        words.insert(0, found["e"])
    if not words:
        raise ProgramError("usage: grep PATTERN [FILE]...", 2)
    pattern, *paths = words
    data = Data()
    for path in paths:
        data = data.plus(call.machine.read(path))
    data = data if paths else call.stdin
    if data.size == FOREVER or (data.more and "\n" not in data.text):  # a line whose end is not among the known text
        growing(call.machine, data.size)
    try:
        expression = re.compile(re.escape(pattern) if "F" in found or call.name == "fgrep" else pattern)
    except re.error as error:
        raise ProgramError(str(error), 2) from None
    hits = [line for line in data.text.splitlines(keepends=True) if bool(expression.search(line)) != ("v" in found)]
    return Result(Data("" if "q" in found else "".join(hits)), "", 0 if hits else 1)


@program("md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum", "openssl", "gzip", "bzip2", "xz", "bc", "factor")
def busy(call: Call) -> Result:
    """Keep one CPU busy as long as the input continues; endlessly without a file."""
    paths = options(call)[1]
    if call.name in ("openssl", "bc", "factor") or (not paths and not call.stdin.size):
        call.machine.spend(FOREVER, cpus=1.0)
    data = call.machine.read(paths[0]) if paths else call.stdin
    copying(call.machine, max(data.size, 0.0))
    return done(f"{'0' * 32}  {paths[0] if paths else '-'}\n") if call.name.endswith("sum") else Result(data)


@program("env", "nice", "nohup", "setsid", "ionice", "stdbuf", "time", "sudo", "tini", "dumb-init", "chrt", "taskset")
def around(call: Call) -> Result:
    """Run another program."""
    words = list(call.args)
    while words and (words[0].startswith("-") or "=" in words[0] or (call.name != "env" and words[0].isdigit())):
        valued = words[0] in ("-n", "-c", "-p", "-u") and len(words) > 1
        del words[: 2 if valued else 1]
    if not words:
        return done("".join(f"{name}={value}\n" for name, value in call.variables.items()))
    return call.run(words, call.machine, call.input)


@program("printenv")
def printenv(call: Call) -> Result:
    """Write variables of the environment."""
    if not call.args:
        return done("".join(f"{name}={value}\n" for name, value in call.variables.items()))
    shown = [call.variables[word] for word in call.args if word in call.variables]
    return done("".join(f"{value}\n" for value in shown), 0 if len(shown) == len(call.args) else 1)


@program("pwd")
def pwd(call: Call) -> Result:
    """Write the working directory."""
    return done("/\n")


@program("id", "whoami")
def identity(call: Call) -> Result:
    """Write the user."""
    return done("root\n" if call.name == "whoami" else "uid=0(root) gid=0(root)\n")


@program("hostname")
def hostname(call: Call) -> Result:
    """Write the pod's name."""
    return Result(call.machine.read("/etc/hostname"))


@program("nproc")
def nproc(call: Call) -> Result:
    """Write the number of CPUs that the container may run on."""
    return Result(call.machine.read("/proc/self/nproc"))


@program("date", "uname", "uptime", "free", "df", "du", "ps", "ip", "ifconfig", "which", "basename", "dirname", "clear")
def telling(call: Call) -> Result:
    """Run a program with minimal resource usage, whose output is not simulated."""
    return done()
