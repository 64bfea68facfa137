"""Which pod, and how much its two containers need and may use, MiB."""


def variant(choose):
    limit = choose(32, 36, 40)
    need = choose(60, 70, 80)
    found = {
        "pod": choose("shop", "blog", "forum", "mail", "wiki"),
        "side": choose("shipper", "sync", "backup", "mirror"),
        "server_use": choose(100, 110, 120),
        "server_limit": choose(160, 176, 192),
        "limit": limit,
        "need": need,
        "enough": need + 36,
        "tight": need - 4,
    }
    requested = found["server_limit"] + limit
    narrow = max(found["server_use"] + need, requested) + 1
    return {**found, "server_busy": found["server_limit"] - 24, "requested": requested, "narrow": narrow}
