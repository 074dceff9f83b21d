"""What `write` tells of pages that say nearly the same, and what that costs.

    python -m tests.benchmarks.near [--json FILE] [--times 15] [--cranfield cran.all.1400]

near/memories.txt holds memories that were told three times each, in other words, and two more on the
same subject each. Every text is compared, as `write` does it, with a field that holds all the others.
The threshold is the lowest at which at most 1 % of the siblings are told; it is chosen by the even
topics and tried on the odd ones, and the other way round.

near/parts.txt holds long pages, with short texts that quote a part of one, do so with a few words
changed, tell it in other words, or tell something else on its subject. Besides, each memory is
compared with a page that is made of others: of one of its retellings and its siblings, or of its
siblings alone. What is measured is the passage alone, which needs no model.

Of abstracts, 200 are each compared with all the others.

The times are whole processes in a field of 10,000 pages: `write` to a field against the same without
the comparison.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from unittest import mock

from memoryfield import Field, Page
from memoryfield.embedders.minilm import MiniLM
from memoryfield.page import with_filled_frontmatter
from memoryfield.search import near
from memoryfield.search.snippet import plain

from .fields import index_field, write_field
from .measure import median_seconds, run, save, table

T = TypeVar("T")

MODEL = MiniLM()
"""Loaded once for all texts."""
MEMORIES, PARTS = (Path(__file__).with_name("near") / name for name in ("memories.txt", "parts.txt"))
ALL_KINDS = {
    '"': "quoted",
    "+": "edited",
    "~": "paraphrased",
    "~c": "paraphrased, composed page",
    "!": "siblings",
    "!c": "siblings, composed page",
}
"""How a short text is to its long page, by its mark."""
SAMPLES = Path(__file__).parents[2] / "samples" / "fieldnotes"
SHOWN = (0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75)
MOST_WRONG = 0.01
"""Of the siblings, so many may be told."""
BOUND = 0.3
"""Seconds that the comparison may take."""


class Memory(NamedTuple):
    """One text: its subject, whether it is the memory of its subject or another one, and its page's name."""

    topic: str
    kind: str
    name: str
    title: str
    text: str

    @property
    def raw(self) -> bytes:
        """As a new page."""
        page = Page(self.name, f"# {self.title}\n\n{self.text}".encode())
        return with_filled_frontmatter(page, title=self.title)


class Pair(NamedTuple):
    """A text that was compared with a stored one."""

    topic: str
    same: bool
    score: float
    words: float


def memories(file: Path = MEMORIES) -> list[Memory]:
    """All the texts of a file."""
    found: list[Memory] = []
    topic = ""
    for part in re.split(r"^(?=\[|[=~!\"+] )", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, text = part.split("\n", 1)
        if part.startswith("["):
            topic = head.strip("[]")
        else:
            found.append(Memory(topic, head[0], f"{topic}-{len(found)}.md", head[2:], text.strip() + "\n"))
    return found


@contextmanager
def field_of(raws: dict[str, bytes], *, embed: bool = True) -> Iterator[Field]:
    """A field of these pages, with its index."""
    with tempfile.TemporaryDirectory() as folder:
        for name, raw in raws.items():
            (Path(folder) / name).write_bytes(raw)
        with Field.open(folder) as field:
            if embed:
                field.sync()
            yield field


WHOLE: dict[str, Any] = {"THRESHOLD": 0.3, "BY_WORDS_ALONE": 0.0, "ALIKE": 2, "LONGER": 1_000_000}
"""Settings that tell of pages whatever their score, compared as a whole."""
PASSAGE: dict[str, Any] = {"THRESHOLD": 2, "BY_WORDS_ALONE": 2, "ALIKE": 0}
"""Settings that tell of pages only for a passage."""
IN_PART: dict[str, Any] = {**PASSAGE, "IN_A_PASSAGE": 0.3}
"""The same, whatever its score."""


def told(field: Field, name: str, raw: bytes, settings: dict[str, Any] = WHOLE) -> dict[str, tuple[float, float]]:
    """Score and words of the pages that a text is compared with."""
    patched = {"MOST": 1000, "MAX_EMBEDDED": 0, **settings}
    with mock.patch.multiple(near, **patched, embedder_of=lambda *_: MODEL):
        found = near.Nearness(field.container, Page(name, raw)).look()
    return {page.filename: (page.score, page.words) for page in found}


def compared(*, embed: bool = True) -> list[Pair]:
    """Each memory against the others on its subject."""
    texts = memories()
    found: list[Pair] = []
    with field_of({text.name: text.raw for text in texts}, embed=embed) as field:
        for text in texts:
            scores = told(field, text.name, text.raw)
            for other in texts:
                if other.topic == text.topic and other.name != text.name:
                    same = "!" not in (text.kind, other.kind)
                    found.append(Pair(text.topic, same, *scores.get(other.name, (0.0, 0.0))))
    return found


def parts() -> list[tuple[Memory, str]]:
    """Short texts, and the name of the long page that each is about."""
    texts = memories(PARTS)
    names = {text.topic: text.name for text in texts if text.kind == "="}
    return [(text, names[text.topic]) for text in texts if text.kind != "="]


def composed() -> list[tuple[Memory, Memory]]:
    """Memories, each with pages made of other ones: some hold it in other words, some its siblings alone."""
    by_topic: dict[str, list[Memory]] = {}
    for text in memories():
        by_topic.setdefault(text.topic, []).append(text)
    topics = list(by_topic)
    found: list[tuple[Memory, Memory]] = []
    for place, (topic, texts) in enumerate(by_topic.items()):
        others = [by_topic[topics[(place + step) % len(topics)]][0] for step in (1, 2, 3)]
        same, siblings = ([text for text in texts if (text.kind == "!") is other] for other in (False, True))
        pairs = [(text, [siblings[0], again, *siblings[1:]]) for text in same for again in same if again is not text]
        pairs += [(text, [*same, *(sibling for sibling in siblings if sibling is not text)]) for text in siblings]
        for number, (text, held) in enumerate(pairs):
            body = "\n\n".join(f"## {one.title}\n\n{one.text}" for one in [others[0], *held, *others[1:]])
            page = Memory(topic, "=", f"page-{topic}-{number}.md", topic.replace("-", " "), body)
            found.append((text._replace(kind="!" if text.kind == "!" else "~"), page))
    return found


def in_part() -> list[tuple[str, Pair]]:
    """Kind and score of each short text against its page, among the others."""
    rest = {text.name: text.raw for text in memories()}
    long = {text.name: text.raw for text in memories(PARTS) if text.kind == "="}
    found: list[tuple[str, Pair]] = []
    with field_of({**rest, **long}, embed=False) as field:
        for text, name in parts():
            score = told(field, "new.md", text.raw, IN_PART).get(name, (0.0, 0.0))[0]
            found.append((text.kind, Pair(text.topic, text.kind != "!", score, score)))
        for text, page in composed():
            field.write(page.name, page.raw)
            score = told(field, text.name, text.raw, IN_PART).get(page.name, (0.0, 0.0))[0]
            field.delete(page.name)
            found.append((text.kind + "c", Pair(text.topic, text.kind != "!", score, score)))
    return found


def kinds(pairs: list[tuple[str, Pair]], threshold: float) -> dict[str, Any]:
    """What share of each kind a threshold tells."""
    shares: dict[str, Any] = {"threshold": threshold}
    for mark, label in ALL_KINDS.items():
        scores = [pair.score for kind, pair in pairs if kind == mark]
        shares[label] = sum(score >= threshold for score in scores) / max(1, len(scores))
    return shares


def kinds_held_out(pairs: list[tuple[str, Pair]]) -> list[dict[str, Any]]:
    """The threshold of one half of the topics, tried on the other."""
    halves = halved(pairs, [pair.topic for _, pair in pairs])
    return [kinds(tried, chosen([pair for _, pair in by])) for by, tried in (halves, halves[::-1])]


def halved(items: Sequence[T], topics: list[str]) -> list[list[T]]:
    """What belongs to the even topics, and what to the odd ones."""
    order = list(dict.fromkeys(topics))
    numbers = [order.index(topic) for topic in topics]
    return [[item for item, number in zip(items, numbers, strict=True) if number % 2 == odd] for odd in (0, 1)]


def row(pairs: list[Pair], threshold: float) -> dict[str, Any]:
    """What a threshold finds, and what it tells wrongly."""
    same = [pair.score >= threshold for pair in pairs if pair.same]
    wrong = [pair.score >= threshold for pair in pairs if not pair.same]
    hits, alarms = sum(same), sum(wrong)
    recall, precision = hits / len(same), hits / max(1, hits + alarms)
    f1 = 2 * recall * precision / (recall + precision) if hits else 0.0
    return {
        "threshold": threshold,
        "found": recall,
        "siblings told": alarms / len(wrong),
        "precision": precision,
        "F1": f1,
    }


def chosen(pairs: list[Pair]) -> float:
    """The lowest threshold, in hundredths, at which at most 1 % of the siblings are told."""
    return next(
        hundredth / 100 for hundredth in count(30) if row(pairs, hundredth / 100)["siblings told"] <= MOST_WRONG
    )


def held_out(pairs: list[Pair]) -> list[dict[str, Any]]:
    """The threshold of one half of the topics, tried on the other."""
    halves = halved(pairs, [pair.topic for pair in pairs])
    return [row(tried, chosen(by)) for by, tried in (halves, halves[::-1])]


def alarms(raws: dict[str, bytes], most: int | None = None) -> dict[str, Any]:
    """How many pages of a field are told as nearly the same as another; of `most` of them, drawn by lot."""
    drawn = {name: raws[name] for name in random.Random(6).sample(sorted(raws), most or len(raws))}
    with field_of(raws) as field:
        scores = [[score for score, _ in told(field, *item).values()] for item in drawn.items()]
        return {
            "pages": len(drawn),
            "highest as a whole": max(map(max, filter(None, scores)), default=0.0),
            "told": sum(bool(told(field, *item, {})) for item in drawn.items()),
            "told for a passage": sum(bool(told(field, *item, PASSAGE)) for item in drawn.items()),
        }


def updates() -> dict[str, Any]:
    """The samples once more, with other frontmatter: as they are, with a line more, a third, and two sentences."""
    raws = {path.name: path.read_bytes() for path in sorted(SAMPLES.glob("*.md")) if path.name != "index.md"}
    found: dict[str, list[bool]] = {"exact copy": [], "a line more": [], "first third": [], "two sentences": []}
    with field_of(raws) as field:
        for name, raw in raws.items():
            page = Page(name, raw)
            body = page.body.strip()
            third = body[: len(body) // 3]
            more = body + "\n\nChecked again in November, and it still holds on the new machine.\n"
            sentences = re.split(r"(?<=[.:]) (?=[A-Z])", plain(page))
            middle = len(sentences) // 2
            part = " ".join(sentences[middle : middle + 2])
            for kind, text, title in zip(found, (body, more, third, part), [page.title] * 3 + ["A note"], strict=True):
                copy = with_filled_frontmatter(Page("copy.md", text.encode()), title=title)
                found[kind].append(name in told(field, "copy.md", copy, {}))
    return {kind: sum(told_of) / len(told_of) for kind, told_of in found.items()}


def cranfield(path: Path) -> dict[str, bytes]:
    """Abstracts of one field of research, as pages: the hardest siblings, a few of them told twice indeed."""
    raws: dict[str, bytes] = {}
    for number, document in enumerate(re.split(r"^\.I \d+\n", path.read_text(), flags=re.MULTILINE)[1:]):
        parts = re.fullmatch(r"\.T\n(.*?)\.A\n.*?\.W\n(.*)", document, re.DOTALL)
        if parts and parts[2].strip():
            title = " ".join(parts[1].split())
            page = Page(f"a-{number}.md", f"# {title}\n\n{parts[2]}".encode())
            raws[page.filename] = with_filled_frontmatter(page, title=title)
    return raws


# times

_PLAIN = """
import sys
from memoryfield import Field
with Field.open(sys.argv[1]) as field:
    field.write(sys.argv[2], open(sys.argv[3], "rb").read(), duplicates=sys.argv[4])
"""


def times(field: Path, turns: int) -> list[dict[str, Any]]:
    """Seconds of writing a page to a large field, with and without the comparison, by what is written."""
    names = (f"new-{number}" for number in count())
    stored = Page("p.md", (field / "page-000007.md").read_bytes())
    texts = {
        "a short text like no page": b"# Umlauts\n\nThe container has no fonts beyond the base ones.\n",
        "a long text like no page": (SAMPLES / "shell-broken-pipe.md").read_bytes(),
        "a page that is there, a paragraph of it": stored.body[:500].encode(),
        "a page that is there": stored.body.encode(),
    }
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for label, text in texts.items():
            file = Path(folder) / "text.md"
            file.write_bytes(text)
            runs: dict[str, list[Any]] = {"ignore": [], "tell": []}
            for turn in range(turns + 1):
                for mode, results in runs.items():
                    name = next(names)
                    result = run([sys.executable, "-c", _PLAIN, str(field), name, str(file), mode])
                    (field / f"{name}.md").unlink()
                    if turn:
                        results.append(result)
            plain, with_it = (median_seconds(runs[mode]) for mode in ("ignore", "tell"))
            rows.append({"text": label, "plain": plain, "compared": with_it, "more": with_it - plain})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--cranfield", type=Path)
    parser.add_argument("--field", type=Path, help="a field of 10,000 pages with its index; it is copied")
    given = parser.parse_args()
    found: dict[str, Any] = {}
    for label, what in figures(given):
        found[label] = what
        print(f"\n{label}\n{shown(what)}", flush=True)
    if given.json:
        save(found, given.json)
    sys.exit(any(one["more"] > BOUND for one in found.get("times", [])))


def figures(given: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """All that is measured, each as soon as it is."""
    if given.times:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "field"
            if given.field:
                shutil.copytree(given.field, place)
            else:
                write_field(place, 10_000, 3_000)
                index_field(place)
            yield "times", times(place, given.times)
    pairs = compared()
    by_words = [pair._replace(score=pair.words) for pair in pairs]
    yield "pairs", {"same": sum(pair.same for pair in pairs), "siblings": sum(not pair.same for pair in pairs)}
    yield "score", [row(pairs, threshold) for threshold in SHOWN]
    yield "held out", held_out(pairs)
    yield "words alone", [row(by_words, threshold) for threshold in SHOWN]
    yield "words alone, held out", held_out(by_words)
    short = in_part()
    yield "parts of long pages", {label: sum(kind == mark for kind, _ in short) for mark, label in ALL_KINDS.items()}
    yield "in a passage", [kinds(short, threshold) for threshold in sorted({0.4, near.IN_A_PASSAGE, *SHOWN})]
    yield "in a passage, held out", kinds_held_out(short)
    yield "in a passage, chosen by all", {"threshold": chosen([pair for _, pair in short])}
    yield "samples", alarms({path.name: path.read_bytes() for path in sorted(SAMPLES.glob("*.md"))})
    yield "updates", updates()
    if given.cranfield:
        yield "cranfield", alarms(cranfield(given.cranfield), 200)


def shown(what: dict[str, Any] | list[dict[str, Any]]) -> str:
    """Figures for people."""
    rows = what if isinstance(what, list) else [what]
    cells = [[f"{value:.3f}" if isinstance(value, float) else str(value) for value in one.values()] for one in rows]
    return table(list(rows[0]), cells)


if __name__ == "__main__":
    main()
