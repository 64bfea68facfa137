"""Which pod, and how much memory it has, uses and needs, MiB."""


def variant(choose):
    wanted = choose(512, 448, 640, 576)
    limit = choose(256, 240, 272)
    return {
        "pod": choose("import", "migrate", "rebuild", "export"),
        "limit": limit,
        "use": limit - 56,
        "wanted": wanted,
        "bytes": wanted * 2**20,
        "old_bytes": limit * 2**20,
        "bigger": wanted + 64,
        "bigger_bytes": (wanted + 64) * 2**20,
        "short": wanted - 32,
    }
