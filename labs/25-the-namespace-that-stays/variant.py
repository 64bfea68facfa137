"""The team that leaves, the names of its datasets, the one that is kept, and the team that stays."""


def variant(choose):
    names = choose(("orders", "clicks", "invoices"), ("trades", "quotes", "limits"), ("maps", "tiles", "routes"))
    first, second, kept = choose((0, 1, 2), (1, 2, 0), (2, 0, 1))
    return {
        "team": choose("risk", "geo", "pricing", "fraud"),
        "other": choose("search", "billing", "mail"),
        "app": choose("loader", "reader", "reports"),
        "first": names[first],
        "second": names[second],
        "kept": names[kept],
        "theirs": choose("archive", "ledger", "mirror"),
        "group": choose("data.example.com", "store.example.com"),
    }
