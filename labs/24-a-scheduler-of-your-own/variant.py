"""Names of the queue and the scheduler, the busy node, and the sizes of the jobs."""


def variant(choose):
    busy, second, whole = choose(
        ("node-1", "node-2", "node-3"),
        ("node-2", "node-3", "node-1"),
        ("node-3", "node-1", "node-2"),
        ("node-1", "node-3", "node-2"),
    )
    first = choose("etl", "quotes", "risk", "geo")
    return {
        "scheduler": choose("packer", "tight", "squeeze"),
        "busy": busy,
        "second": second,
        "whole": whole,
        "resident": choose("gateway", "portal", "search"),
        "first": first,
        "small": choose(900, 1000, 1100),
        "large": choose(1400, 1500, 1600),
        "store": choose("ledger", "archive", "catalog"),
        "night": choose("nightly", "training", "backfill"),
    }
