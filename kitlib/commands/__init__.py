"""One file a command of the command line. Each has `add(subparsers)`; what a command needs is imported when it runs."""
