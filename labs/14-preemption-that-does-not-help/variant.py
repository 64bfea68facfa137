"""Which pod is in a hurry, what runs on the node, and how many of the small pods have to go."""


def variant(choose):
    needs = choose(2, 1)
    return {
        "urgent": choose("urgent", "hotfix", "incident", "payout"),
        "batch": choose("batch", "encode", "crawl", "train"),
        "db": choose("db", "ledger", "orders"),
        "needs": needs,
        "word": {1: "one", 2: "two"}[needs],
        "left": 3 - needs,
        "patient": choose("patient", "calm", "polite"),
        "pressing": choose("pressing", "rush", "express"),
        "gpu": choose("gpu", "fpga"),
    }
