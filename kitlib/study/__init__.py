"""Teaching tools around the scheduler: scenarios, comparison of releases, replay, benchmark."""
