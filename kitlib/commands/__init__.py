"""The commands of the command line, one file each. Each has `add(subparsers)`; its imports run when the command runs.

Imported by the command line, `kitlib.cli`, alone.
Face: `add` of each module.
"""
