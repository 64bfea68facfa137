"""Whose jobs, in which order, and who has two gates."""


def variant(choose):
    first, second, third = choose(
        ("serve", "train", "backfill"),
        ("train", "backfill", "serve"),
        ("backfill", "serve", "train"),
        ("serve", "backfill", "train"),
        ("train", "serve", "backfill"),
    )
    return {
        "first": first,
        "second": second,
        "third": third,
        "team": choose("ml", "risk", "geo", "web"),
        "small": choose(500, 600, 700),
    }
