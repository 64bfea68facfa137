"""Programs that wait, servers without requests, and clients of a network without traffic."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Sequence
from signal import SIGTERM

from kitlib.node.common.workload import parse_seconds
from kitlib.node.simulated.programs.registry import GO_EXIT, SMALL, done, options, program
from kitlib.node.simulated.shell.machine import (
    FOREVER,
    Call,
    ChildKilled,
    Data,
    Forever,
    Input,
    ProgramError,
    Result,
    TimeUp,
    signal_number,
    take_signal,
)

TIMED_OUT = 124
"""Exit code of `timeout`. Source: GNU coreutils."""


@program("sleep", "usleep")
def sleep(call: Call) -> Result:
    """Wait; several durations are added."""
    try:
        seconds = sum(parse_seconds(word) for word in call.args)
    except ValueError:
        raise ProgramError(f"invalid time interval '{' '.join(call.args)[:40]}'") from None
    call.machine.spend(seconds * (1e-6 if call.name == "usleep" else 1.0), memory=SMALL)
    return Result()


@program("watch", "top", on_sigterm=0)
def watch(call: Call) -> Result:
    """Show something periodically, with minimal resource usage; `top -n` exits."""
    if call.name == "top" and any(word.startswith(("-n", "-bn")) for word in call.args):
        return done()
    call.machine.spend(FOREVER)
    return done()


@program("xargs")
def xargs(call: Call) -> Result:
    """Run a program with the words of the input: once with all, once a line with -I and -L 1, once a word with -n 1."""
    found, words = options(call, "IPnLd", ("max-procs", "replace", "max-args"))
    at = next((i for i, word in enumerate(call.args) if words and word == words[0] and _is_operand(call, i)), None)
    command = list(call.args[at:]) if at is not None else ["echo"]
    place = found.get("I") or found.get("replace")
    lines, given = call.stdin.text.splitlines(), call.stdin.text.split()
    if place:
        runs = [[word.replace(place, line) for word in command] for line in lines]
    elif found.keys() & {"n", "L", "max-args"}:
        runs = [[*command, word] for word in given]
    else:
        runs = [[*command, *given]]
    several = found.get("P") or found.get("max-procs") or "1"
    if several == "1":
        return [call.run(words, call.machine, Input()) for words in runs][-1] if runs else done()
    for words in runs:
        machine = call.machine.fork()
        with contextlib.suppress(Forever, ChildKilled):
            call.run(words, machine, Input())
    call.machine.wait()
    return done()


def _is_operand(call: Call, index: int) -> bool:
    """Return whether a word begins the command: neither an option nor an option's value."""
    before = call.args[index - 1] if index else ""
    return not (before[:1] == "-" and len(before) == 2 and before[1] in "IPnLd")


@program("timeout")
def timeout(call: Call) -> Result:
    """Run a program for at most this duration."""
    words = list(call.args)
    while words and words[0].startswith("-"):
        del words[: 2 if words[0] in ("-k", "-s", "-t") and len(words) > 2 and words[0] != "-t" else 1]
    if len(words) < 2:
        raise ProgramError("usage: timeout SECONDS PROGRAM", 125)
    machine = call.machine
    outer, own = machine.deadline, machine.now + parse_seconds(words[0])
    machine.deadline = min(outer, own)
    try:
        result = call.run(words[1:], machine, call.input)
        if result.out.size == FOREVER and own != FOREVER:  # it writes until the timeout
            machine.spend(own - machine.now + 1.0, cpus=1.0)
        return result
    except TimeUp:
        if outer <= own:
            raise
        return Result(code=TIMED_OUT)
    finally:
        machine.deadline = outer


@program("pause", "/pause", on_sigterm=0)
def pause(call: Call) -> Result:
    """Run the pause container's program."""
    call.machine.spend(FOREVER, memory=256 * 1024)
    return Result()


CONTROLS: dict[str, tuple[str, tuple[str, ...]]] = {"nginx": ("-s", ("quit", "stop"))}
CONTROLS |= dict.fromkeys(("httpd", "apachectl", "apache2ctl"), ("-k", ("stop", "graceful-stop")))
"""The option with which a server's program controls the running server, and its values that end the server."""


@program("kill")
def kill(call: Call) -> Result:
    """Send a signal to process 1; the other processes of a container are not known by number."""
    number, rest = take_signal(call.args)
    unknown = "".join(f"kill: can't kill pid {word}: No such process\n" for word in rest if word != "1")
    if "1" in rest and call.machine.running():
        call.machine.signal(number)
    return Result(err=unknown, code=int(bool(unknown)))


@program("killall", "pkill", "pidof", "pgrep")
def by_name(call: Call) -> Result:
    """Send a signal to process 1 by its name, or ask for it; children of process 1 are not known by name."""
    number, name, words = int(SIGTERM), "", list(call.args)
    while words:
        word = words.pop(0)
        if word in ("-s", "--signal") and words:
            number = signal_number(words.pop(0))
        elif word[:1] == "-" and (word[1:].isdigit() or word[1:].isupper()):
            number = signal_number(word[1:])
        elif word[:1] != "-":
            name = word
    running = call.machine.running()
    found = name in running if call.name.startswith("p") and call.name != "pidof" else name == running
    if not name or not running or not found:
        return Result(err=f"{name}: no process found\n" if call.name == "killall" else "", code=1)
    if call.name in ("pidof", "pgrep"):
        return done("1\n")
    call.machine.signal(number)
    return done()


@program(
    *("nginx", "httpd", "httpd-foreground", "apache2-foreground", "apachectl", "redis-server", "memcached", "mongod"),
    *("postgres", "mysqld", "mariadbd", "etcd", "haproxy", "envoy", "caddy", "traefik", "coredns", "rabbitmq-server"),
    *("docker-entrypoint.sh", "/docker-entrypoint.sh", "registry", "prometheus", "grafana-server", "sshd", "cron"),
    *("crond", "supervisord", "http-echo", "whoami-server", "nats-server", "consul", "vault", "minio", "kube-proxy"),
    *("echo-server", "hello-app", "guestbook", "metrics-server", "fluentd", "fluent-bit", "logstash", "node_exporter"),
    on_sigterm=0,
)
def server(call: Call) -> Result:
    """Wait as a server without requests, or send a signal to the running one (`nginx -s quit`, `httpd -k stop`)."""
    option, stops = CONTROLS.get(call.name, ("", ()))
    if option in call.args:
        if call.args[-1] in stops:
            call.machine.signal(SIGTERM)
        return done()
    if call.name == "nginx" and {"-t", "-T", "-v", "-V"} & {*call.args}:
        return done()
    call.machine.spend(FOREVER)
    return Result()


@program("agnhost", "/agnhost", on_sigterm=GO_EXIT)
def agnhost(call: Call) -> Result:
    """Run the test image of Kubernetes: its servers wait, `pause` as well; `stress` is vish/stress.

    Source: test/images/agnhost; pause.go ends with 2, which the Go runtime does of itself.
    """
    command = call.args[0] if call.args else ""
    if command == "stress":
        from kitlib.node.simulated.programs.stress import vish

        return vish(call)
    return pause(call) if command == "pause" else server(call)


ANSWERS: dict[str, tuple[tuple[float, int], ...]] = {"liveness": ((10.0, 200), (FOREVER, 500))}
"""HTTP status codes of agnhost's servers, each with the time (seconds since the start) until which it is sent."""


def http_status(words: Sequence[str], seconds: float) -> int:
    """Return the answer of a command's server at a time after its start: 200 unless another status is known."""
    if words[0].rpartition("/")[2] == "agnhost" and len(words) > 1:
        return next((code for until, code in ANSWERS.get(words[1], ()) if seconds < until), 200)
    return 200


FOLDERS = {
    "test-webserver": ("", 200),
    "nginx": ("/usr/share/nginx/html", 403),
    "httpd-foreground": ("/usr/local/apache2/htdocs", 200),
}
"""Folders that servers of files serve, and the status of a folder without an index."""


def file_status(words: Sequence[str], path: str, removed: Container[str]) -> int:
    """Return the answer of a server of files for a path: 200 unless a command in the container has removed its file.

    Source: test/images/agnhost/test-webserver; the default configurations of the images nginx and httpd.
    """
    folder, bare = FOLDERS.get(_server(words), ("", 0))
    file = path.partition("?")[0]
    index = file.endswith("/")
    gone = bare and f"{folder}{file}{'index.html' if index else ''}" in removed
    return (bare if index else 404) if gone else 200


def _server(words: Sequence[str]) -> str:
    """Return the server of files that a command line starts; "" = none."""
    names = [word.rpartition("/")[2] for word in words[:2]]
    return next((name for name in reversed(names) if name in FOLDERS), "")


def image_files(words: Sequence[str]) -> dict[str, Data | None]:
    """Return the files that the image of a server of files has for it to serve."""
    sizes = _SIZES.get(_server(words), {})
    return {path: Data(more=size) for path, size in sizes.items()}


_SIZES = {
    "test-webserver": {"/localhost.crt": 1135, "/localhost.key": 1675},
    "nginx": {"/usr/share/nginx/html/index.html": 615, "/usr/share/nginx/html/50x.html": 497},
    "httpd-foreground": {"/usr/local/apache2/htdocs/index.html": 45},
}
"""Bytes of the files in the images, by server. Source: the images' public Dockerfiles."""


CLIENTS = ("curl", "wget", "nslookup", "dig", "ping", "nc", "ncat", "telnet", "getent")
"""Clients of the network, which a simulated node does not have."""


@program(*CLIENTS)
def client(call: Call) -> Result:
    """Run a client: a simulated node carries no traffic; the request is assumed to succeed at once.

    `nc -l` is a server, which waits.
    """
    if call.name in ("nc", "ncat") and any(w == "--listen" or (w[:1] == "-" and "l" in w) for w in call.args):
        call.machine.spend(FOREVER)
    call.machine.spend(0.1)
    return done()


@program("apt-get", "apt", "apk", "yum", "dnf", "pip", "pip3", "npm", "git", "update-ca-certificates")
def installer(call: Call) -> Result:
    """Run an installer: it takes some seconds of a CPU, and its result is assumed to exist."""
    options(call)
    call.machine.spend(5.0, cpus=0.5, memory=50 * 2**20)
    return done()
