"""Which pods, and how much memory they take, MiB."""


def variant(choose):
    use = choose(500, 480, 520)
    return {
        "db": choose("db", "ledger", "orders", "stock"),
        "batch": choose("batch", "encode", "crawl", "train"),
        "use": use,
        "busy": use + 40,
        "just": use + 1,
        "grow": choose(600, 620, 640),
        "request": choose(16, 24, 32),
        "batch_request": choose(300, 280, 320),
    }
