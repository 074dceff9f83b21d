"""The tables of an index file, and how text becomes the words that its keyword table holds.

`pages` is the format's own table and comes first: any tool may read it. What begins with
`memoryfield_` is ours, and can be dropped without loss.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

PAGES = """
CREATE TABLE IF NOT EXISTS pages (
    filename      TEXT PRIMARY KEY,
    frontmatter   JSON NOT NULL,
    last_modified DATETIME NOT NULL,
    sha256_hash   BLOB NOT NULL,
    embedding     BLOB NOT NULL
);
"""
PAGES_COLUMNS = frozenset({"filename", "frontmatter", "last_modified", "sha256_hash", "embedding"})

TOKENIZER = ("porter", ["unicode61", "remove_diacritics", "2"])

OURS = f"""
CREATE TABLE IF NOT EXISTS memoryfield_meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memoryfield_files (
    id         INTEGER PRIMARY KEY,       -- the rowid in memoryfield_keyword
    filename   TEXT NOT NULL UNIQUE,
    size       INTEGER NOT NULL,          -- bytes
    mtime_ns   INTEGER NOT NULL,          -- since 1970, UTC
    crc32      INTEGER NOT NULL,          -- what an archive knows of a file without reading it
    sha256     BLOB NOT NULL,
    indexed_ns INTEGER NOT NULL,          -- the moment before the file was read
    fault      TEXT,                      -- why the page has no vector and gets none; '' if it is blank
    broken     INTEGER NOT NULL,          -- whether the page has problems: its frontmatter is read anew
    frontmatter JSON NOT NULL,            -- of these bytes, where `pages` may still have an older one
    created_ns INTEGER,                   -- what the frontmatter says, where it is a date: since 1970, UTC
    updated_ns INTEGER,
    expires_ns INTEGER,                   -- of a date alone, its last moment
    supersedes JSON                       -- uuids of the pages that this one takes the place of
);
CREATE INDEX IF NOT EXISTS memoryfield_expires ON memoryfield_files (expires_ns) WHERE expires_ns IS NOT NULL;
CREATE INDEX IF NOT EXISTS memoryfield_supersedes ON memoryfield_files (id) WHERE supersedes IS NOT NULL;
CREATE VIRTUAL TABLE IF NOT EXISTS memoryfield_keyword USING fts5(
    text, content='', contentless_delete=1, tokenize='{TOKENIZER[0]} {" ".join(TOKENIZER[1])}'
);
"""

DROP_OURS = """
DROP TABLE IF EXISTS memoryfield_keyword;
DROP TABLE IF EXISTS memoryfield_files;
DROP TABLE IF EXISTS memoryfield_meta;
"""

VERSION = "3"
"""Of our own tables and of `words`. Another version in a file: our tables are made anew, vectors stay."""

# Scripts written without spaces between words: Thai to Khmer, Hangul, kana, Han, and their
# supplements. Each character becomes a word of its own, so that any part of a run can be found
# as a phrase, and so can Latin words that are glued to it.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3100-\u318f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
    "\U0001b000-\U0001b16f\U00020000-\U000323af"
)


_BEYOND = re.compile("[^\x00-\u0dff\u2000-\u2bff]")
_SIGNS = re.compile(r"[+#](?<=\w[+#])[+#]*(?!\w)")  # a sign first: that is quickly looked for
"""What tells C++ and C# from C: the tokenizer would pass over it."""


def may_be_unspaced(text: str) -> bool:
    """Whether a text has any character beyond the alphabets and signs of Europe and the Near East."""
    return not text.isascii() and _BEYOND.search(text) is not None


@cache
def unspaced() -> re.Pattern[str]:
    """One character of those scripts. Compiled when it is first needed: that takes a while."""
    return re.compile(f"[{UNSPACED}]")


def words(text: str) -> str:
    """Text as the keyword table takes it: spaces around each character of a script without spaces.

    The signs at the end of a word, as in C++ or C#, become words of their own.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)  # a syllable of Hangul is one character, or three
    if "+" in text or "#" in text:
        text = _SIGNS.sub(_spelled, text)
    if not may_be_unspaced(text):
        return text
    return unspaced().sub(_apart, text)


def _spelled(match: re.Match[str]) -> str:
    return "".join(f" u{ord(sign):x}" for sign in match[0]) + " "


def _apart(match: re.Match[str]) -> str:
    """A character as a word. A combining mark is no word to the tokenizer: its code stands for it."""
    character = match[0]
    return f" {character} " if character.isalnum() else f" u{ord(character):x} "
