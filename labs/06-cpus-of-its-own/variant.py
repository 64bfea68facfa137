"""Which pods, and how many CPUs one of them needs for itself (one on a real node)."""


def variant(choose):
    count = choose(2, 3)
    return {
        "trader": choose("trader", "codec", "router", "mixer"),
        "noise": choose("noise", "builds", "reports", "scans"),
        "count": count,
        "word": {2: "two", 3: "three"}[count],
        "more": count + 2,
        "less": count - 1,
        "odd": count * 1000 - 500,
        "memory": choose(256, 320, 384),
    }
