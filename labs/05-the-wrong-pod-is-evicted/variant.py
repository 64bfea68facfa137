"""Which pods, what they use and what they request, MiB."""


def variant(choose):
    use = choose(200, 190, 210)
    # the sum is above what the kubelet leaves (874 MiB) and below where the kernel kills before the kubelet looks
    grow = 900 - use - choose(0, 5, 10)
    return {
        "report": choose("report", "invoice", "payroll", "audit"),
        "cache": choose("cache", "index", "preview", "thumbs"),
        "use": use,
        "grow": grow,
        "request": choose(25, 20, 30),
        "cache_request": grow + 50,
        "busy": use + 15,
        "just": use + 1,
        "covers": use + 25,
        "close": grow - 40,
    }
