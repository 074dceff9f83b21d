"""The command line: arguments in, rendering out, no logic of its own."""
