"""The cases that Kubernetes computed or showed, one module a kind of case, compared field by field.

Imported by commands.
Face: `runner.run_file`.
"""
