"""Which pod, what its second container is for, and how much CPU the server needs."""


def variant(choose):
    cpu = choose(250, 200, 300, 400)
    return {
        "pod": choose("web", "shop", "cart", "search", "login"),
        "side": choose("log", "proxy", "metrics", "sync"),
        "cpu": cpu,
        "double": 2 * cpu,
        "half": cpu // 2,
    }
