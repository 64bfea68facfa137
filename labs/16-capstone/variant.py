"""Who is hit by the five incidents, and by how much."""


def variant(choose):
    cpu, needs, used = choose(200, 250, 300), choose(2, 1), choose(4, 3)
    need = choose(60, 70, 80)
    return {
        "report": choose("report", "forecast", "ranking"),
        "fast": choose("ssd", "nvme"),
        "typo": choose("sdd", "fast-ssd"),
        "team": choose("data", "search", "risk"),
        "used": used,
        "fits": 8 - used - 1,
        "orders": choose("orders", "mail", "wiki"),
        "side": choose("shipper", "sync", "backup"),
        "need": need,
        "enough": need + 36,
        "checkout": choose("checkout", "quote", "render"),
        "cpu": cpu,
        "double": 2 * cpu,
        "shop": choose("shop", "blog", "tickets"),
        "taint": choose("zone=broken", "storage=down"),
        "urgent": choose("urgent", "hotfix", "payout"),
        "batch": choose("batch", "encode", "crawl"),
        "needs": needs,
        "left": 3 - needs,
    }
