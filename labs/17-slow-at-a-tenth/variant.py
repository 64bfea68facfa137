"""Which pod, its threads, its work in each second, its limit, and how long a collection may take (ms)."""


def variant(choose):
    limit, threads, few, work = choose(
        (2000, 8, 2, 240), (3000, 12, 3, 330), (2000, 10, 2, 220), (1000, 6, 1, 110), (3000, 9, 3, 360)
    )
    return {
        "pod": choose("cart", "search", "ledger", "inbox", "atlas"),
        "limit": limit,
        "threads": threads,
        "few": few,
        "work": work,
        "deadline": 150,
        "quota": limit // 10,
        "request": choose(400, 500, 600),
        "double": 2 * limit,
        "half_more": limit * 3 // 2,
        "cap": 3 * limit,
        "beyond": 4 * limit,
        "tight": limit * 21 // 20,
        "many": 2 * threads,
        "memory": choose(64, 80, 96),
    }
