"""Which pod, whose node, which labels, and how much CPU is wanted and left."""


def variant(choose):
    used, asked = choose(4, 3, 5), choose(6, 7)
    return {
        "pod": choose("report", "forecast", "render", "ranking"),
        "team": choose("data", "search", "video", "risk"),
        "other": choose("warehouse", "archive", "catalog"),
        "fast": choose("ssd", "nvme"),
        "typo": choose("sdd", "sd", "fast-ssd"),
        "used": used,
        "asked": asked,
        "fits": 8 - used - 1,
    }
