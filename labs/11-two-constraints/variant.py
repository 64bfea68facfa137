"""Whose pods, and in which zones."""


def variant(choose):
    big, small = choose(("a", "b"), ("east", "west"), ("old", "new"), ("x", "y"))
    return {
        "app": choose("app", "queue", "login", "pay", "search"),
        "a": big,
        "b": small,
        "cpu": choose(100, 150, 200),
    }
