"""The commands of the command line, one file each, with a function `add(subparsers)` that imports nothing else.

Imported by the command line, `kitlib.cli`, alone.
Face: `add` of each module.
"""
