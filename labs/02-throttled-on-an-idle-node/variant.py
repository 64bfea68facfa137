"""Which pod, and the CPU that it requests and is limited to."""


def variant(choose):
    cpu = choose(200, 150, 250, 300, 400)
    return {
        "pod": choose("api", "render", "checkout", "feed", "quote"),
        "cpu": cpu,
        "double": 2 * cpu,
        "part": cpu // 10,
        "memory": choose(64, 80, 96),
    }
