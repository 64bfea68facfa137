"""kube-scheduler: the framework, its plugins, the queue and the one scheduling loop.

Imported by controllers, study, cluster and what is above them; node and API server do not know it.
Face: `scheduler.Scheduler`, `profile.Profile`, `decision.Decision`.
"""
