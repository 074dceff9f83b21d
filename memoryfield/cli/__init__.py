"""The command line: arguments in, rendering out, no logic of its own."""

import contextlib
import gc
import os
import sys


def entry() -> None:
    """Run the command line and exit. Ctrl-C is quiet from the first moment on."""
    gc.set_threshold(100_000)  # imports make many objects and no garbage
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's helpers would wait busily on cores that models need
    try:
        from .main import main

        main()
    except KeyboardInterrupt:
        os._exit(130)
    except SystemExit as ending:
        # All is written and closed. Taking down the interpreter with its libraries, object by
        # object, would take longer than a keyword search.
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(ending.code if isinstance(ending.code, int) else 1)
