"""The first process of a container: a watchdog that ends it when its standard input is closed.

The agent, a node's or (with the argument `control-plane`) the control plane's, is its child; with the argument
`systemd` its child is systemd, and the agent a child of that (`init.py`). In a pod of Kubernetes its arguments contain
the node's limits, which the agent sets itself (`bounds.py`). The watchdog reads nothing and only waits for the other
end of the pipe to be closed: even with an agent that hangs or is stopped, the container ends with its owner. When
process 1 ends, the kernel kills all other processes of the container, and the engine removes it.
"""

import _signal as signal  # `signal` itself would load enum: a third of what the watchdog needs
import os
import select
import sys

AGENT_FAILED = 70


def main() -> None:
    """Fork the agent and wait until the owner or the agent has ended."""
    words = sys.argv[1:]
    systemd, bounds = "systemd" in words, [word for word in words if word.startswith("--")]
    signal.signal(signal.SIGCHLD, signal.SIG_IGN if systemd else signal.SIG_DFL)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    ends, begins = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ends)
        os.set_inheritable(begins, False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__)))))
        import importlib

        agent = "kitlib.cluster.control_plane.container.agent" if "control-plane" in words else "kitlib.node.real.agent"
        main_of = importlib.import_module(agent).main
        if bounds:
            module = importlib.import_module("kitlib.node.real.bounds")
            lacking, of_agent = module.enter(module.read(bounds)), main_of
            main_of = lambda: of_agent(lacking)  # noqa: E731
        sys.exit(importlib.import_module("kitlib.node.real.init").begin(main_of) if systemd else main_of())
    os.close(begins)
    watch = select.poll()
    watch.register(0, 0)  # only HUP and ERR, which poll always reports
    watch.register(ends, 0)
    while True:
        for descriptor, _ in watch.poll():
            if descriptor == 0:
                os._exit(0)
            if systemd:
                os._exit(AGENT_FAILED)  # the agent is no child of this process
            _, status = os.waitpid(child, 0)  # only the agent's exit closes its end of the pipe
            os._exit(os.waitstatus_to_exitcode(status) & 255 if status else AGENT_FAILED)


if __name__ == "__main__":
    main()
