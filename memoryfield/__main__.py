"""`python -m memoryfield`."""

from .cli.main import main

main()
