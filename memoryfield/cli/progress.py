"""A bar on a terminal for what takes long."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    doing: str, *, at_once: bool = True, unit: str = "pages"
) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal: pages (or another unit), pages a second, time left. `doing` stands before it.

    Args:
        at_once: show it before anything is done, and not only when the first progress is told.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(doing),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(doing, total=None, rate="")
    start = time.monotonic()

    def show(done: int, total: int) -> None:
        bar.start()
        rate = done / max(1e-9, time.monotonic() - start)
        bar.update(task, completed=done, total=total or None, rate=f"{rate:.1f} {unit}/s")

    if at_once:
        bar.start()
    try:
        yield show
    finally:
        bar.stop()
