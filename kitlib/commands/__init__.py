"""One file a command of the command line. Each has `add(subparsers)`; what a command needs is imported when it runs.

Imported by the command line, `kitlib.cli`, alone.
Face: `add` of each module.
"""
