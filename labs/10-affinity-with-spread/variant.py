"""Whose pods, which pools, which zones."""


def variant(choose):
    here, there = choose(("a", "b"), ("east", "west"), ("north", "south"), ("x", "y"))
    return {
        "app": choose("web", "feed", "maps", "chat"),
        "batch": choose("render", "encode", "resize"),
        "pool": choose("web", "front", "edge"),
        "other": choose("batch", "jobs", "night"),
        "a": here,
        "b": there,
        "full": f"{here}-1",
        "free": f"{there}-1",
        "foreign": f"{there}-2",
    }
