"""The scheduling queue: activeQ, backoffQ, unschedulable pods, nominated pods, queueing hints.

Imported by the scheduler's loop. Face: `scheduling_queue.SchedulingQueue`.
"""
