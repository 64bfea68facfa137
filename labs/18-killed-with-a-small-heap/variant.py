"""Which pod, what it keeps and what its files in memory take, MiB, and its limit, which is too small for both."""


def variant(choose):
    heap, files, limit = choose((100, 90, 160), (120, 80, 176), (80, 110, 160), (90, 100, 168), (110, 100, 184))
    return {
        "pod": choose("render", "thumbs", "mailer", "export", "index"),
        "heap": heap,
        "files": files,
        "limit": limit,
        "enough": heap + files + 16,
        "generous": heap + files + 60,
        "tight": heap + files - 2,
        "cap": 320,
        "beyond": 512,
        "cpu": choose(100, 150, 200),
    }
