"""Who needs more CPU and how much, who has more than it uses, and how much the export writes."""


def variant(choose):
    wants, writes = choose(1500, 1400, 1600), choose(700, 800, 900)
    return {
        "api": choose("api", "checkout", "login", "pricing"),
        "batch": choose("batch", "encode", "crawl"),
        "export": choose("export", "report", "backup", "dump"),
        "wants": wants,
        "close": wants - 200,
        "writes": writes,
        "enough": writes + 300,
        "tight": writes - 50,
        "most": 2,
        "team": choose("defaults", "team", "house-rules"),
    }
