"""What is reserved on the node, and what is left of it for one pod, MiB and milli-CPU."""


def variant(choose):
    kube, system, threshold = choose(512, 448, 384), choose(512, 400, 640), choose(500, 300, 400)
    kube_cpu, system_cpu = choose(500, 400, 600), choose(250, 200, 300)
    agent, agent_cpu = choose(256, 192, 320), choose(100, 150, 200)
    allocatable, enforced = 8192 - kube - system - threshold, 8192 - kube - system
    left, cpu = allocatable - agent, 4000 - kube_cpu - system_cpu - agent_cpu
    return {
        "pod": choose("big", "solver", "warehouse", "graph"),
        "kube": kube,
        "system": system,
        "threshold": threshold,
        "kube_cpu": kube_cpu,
        "system_cpu": system_cpu,
        "agent": agent,
        "agent_cpu": agent_cpu,
        "allocatable": allocatable,
        "enforced": enforced,
        "left": left,
        "fits": left - 12,
        "half": left // 2,
        "rest": left - left // 2 - 8,
        "without_threshold": left + threshold,
        "cpu": cpu,
        "cpu_too_much": cpu + agent_cpu,
        "cpu_half": cpu // 2,
        "cpu_rest": cpu - cpu // 2,
        "cpu_less": cpu - 50,
    }
