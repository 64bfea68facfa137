"""Which pod, what it goes over and what it only keeps, MiB, its request and its limit, which is too small."""


def variant(choose):
    hot, cold, limit, request = choose(
        (240, 30, 200, 180), (300, 20, 250, 220), (220, 40, 190, 170), (180, 30, 150, 140), (260, 40, 220, 200)
    )
    return {
        "pod": choose("search", "ledger", "catalog", "pricing", "router"),
        "db": choose("orders", "users", "stock"),
        "hot": hot,
        "cold": cold,
        "whole": hot + cold,
        "limit": limit,
        "request": request,
        "swap": request // 2,
        "fits": hot + 6,
        "enough": hot + cold + 16,
        "more": limit - 4,
        "tight": hot - 20,
        "less": hot - 60,
        "cap": hot + cold + 40,
        "beyond": hot + cold + 120,
    }
