"""kube-scheduler: the framework, its plugins, the queue and the one scheduling loop.

Imported by controllers, study, cluster and the packages above them; node and API server do not import it.
Face: `scheduler.Scheduler`, `profile.Profile`, `decision.Decision`.
"""
