"""Many writers at one field: how many writes a second, how many are refused, and that none is lost.

Eight writers with fifty writes each (new pages, appends, appends to a section, replacements with
--if-match), two that embed with the bundled model, two that search, one that packs; for a minute at
least, with processes killed at random moments. Ends with 1 if anything is wrong.

    python -m tests.benchmarks.writers --seconds 60 --kills 12
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path

from memoryfield.embedders import DEFAULT_MODEL

from ..cli.support import environment
from ..crowd import Crowd
from .measure import machine


def main() -> int:
    """Run it once, print the figures as JSON, and what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--writes", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        crowd = Crowd(
            Path(place, "notes"),
            DEFAULT_MODEL,
            environment(),
            writers=given.writers,
            writes=given.writes,
            seconds=given.seconds,
            kills=given.kills,
            seed=given.seed,
        )
        crowd.run()
        wrong = list(crowd.check())
        print(json.dumps({**machine(), **figures(crowd), "wrong": wrong}, indent=2))
    return 1 if wrong else 0


def figures(crowd: Crowd) -> dict[str, object]:
    """What a run came to."""
    ends = Counter(
        "killed" if write.code is None else "stored" if write.is_done else "refused"
        for write in crowd.log
        if write.kind != "read"
    )
    return {
        "seconds": round(crowd.took, 1),
        "writes": sum(ends.values()),
        **{f"writes_{end}": ends[end] for end in ("stored", "refused", "killed")},
        "stored_a_second": round(ends["stored"] / crowd.took, 1),
        "of_a_kind": dict(Counter(f"{write.kind} {write.code}" for write in crowd.log)),
        "others": {f"{name} {code}": times for (name, code), times in sorted(crowd.others.items())},
        "killed": dict(crowd.killed),
        "pages": len(list(crowd.folder.glob("*.md"))),
        "left_behind": len(crowd.left()),
    }


if __name__ == "__main__":
    raise SystemExit(main())
