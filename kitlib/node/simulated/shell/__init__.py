"""One shell for commands, `kubectl exec` and exec probes: lexer, parser, expansion, interpreter.

Imported by programs, the runtime and nodes. Face: `interpreter.Shell`, `machine.Machine`.
"""
