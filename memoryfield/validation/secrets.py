"""S-7: secrets in the open, found with detect-secrets where that is installed (the extra `secrets`).

Its patterns are many, and slow over much prose. So a page is asked first for what no match can do
without: nearly all tokens are one long word, and hold a few letters that hardly any other word does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

from ..errors import UsageError
from ..page import Page
from .report import Fault
from .requirements import chosen
from .text import by_line

HINT = "pip install 'memoryfield-cli[secrets]'"
EXCLUDED = {"IPPublicDetector", "KeywordDetector", "Base64HighEntropyString", "HexHighEntropyString"}
"""What these take for a secret is, in prose, nearly always none: addresses, the word "password", hashes."""

LONG_WORD = 20
"""Characters: that of AWS is the shortest token of those that are one word. (Artifactory's pattern takes shorter
ones, and its tokens are of 64 and more.)"""
MAX_CHARS = 8192
"""So much is looked at of one word, or of one line: some patterns take quadratic time."""


class Signs(NamedTuple):
    """What every match of a detector holds one of, in lowercase: in a long word, or anywhere."""

    words: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    run: bool = False
    """Else a long word holds what `_LONG_RUN` describes."""
    is_word: bool = True
    """Whether a match is one long word; otherwise it may hold spaces, or be short."""


_SIGNS = {
    "ArtifactoryDetector": Signs(("akc", "ap")),
    "AWSKeyDetector": Signs(("a3t", "abia", "acca", "akia", "asia"), ("aws",), is_word=False),
    "AzureStorageKeyDetector": Signs(("accountkey=",)),
    "BasicAuthDetector": Signs((), ("://",), is_word=False),
    "CloudantDetector": Signs(run=True, is_word=False),
    "DiscordBotTokenDetector": Signs((".",)),
    "GitHubTokenDetector": Signs(("gh",)),
    "GitLabTokenDetector": Signs(("gl", "gr1348941")),
    "IbmCloudIamDetector": Signs(run=True, is_word=False),
    "IbmCosHmacDetector": Signs(run=True, is_word=False),
    "JwtTokenDetector": Signs(("eyj",)),
    "MailchimpDetector": Signs(("-us",)),
    "NpmDetector": Signs((), (":_authtoken=",), is_word=False),
    "OpenAIDetector": Signs(("sk-",)),
    "PrivateKeyDetector": Signs(("putty-user-key-file-2",), ("private key",), is_word=False),
    "PypiTokenDetector": Signs(("pypi-",)),
    "SendGridDetector": Signs(("sg.",)),
    "SlackDetector": Signs(("hooks.slack",), ("xox",), is_word=False),
    "SoftlayerDetector": Signs(run=True, is_word=False),
    "SquareOAuthDetector": Signs(("sq0csp-",)),
    "StripeDetector": Signs(("k_live_",)),
    "TelegramBotTokenDetector": Signs((":",)),
    "TwilioKeyDetector": Signs(("ac", "sk")),
}
"""By the detector's name. One that is not here is run over every line of every page."""
_IN_TEXT = tuple({sign for signs in _SIGNS.values() for sign in signs.text})
_LONG_RUN = re.compile(r"[a-z]{24}|[\w-]{44}")
"""In lowercase, the keys that some detectors find beside a word such as `token`."""
_PLACEHOLDERS = re.compile(r"<.*>|(?:user)?(?:pass(?:word|wd)?|pwd|secret|token|key)|x+|\.+|…|example|changeme", re.I)


class Shape(NamedTuple):
    """What a detector looks for: what it calls it, its patterns, and what a page needs to hold for a match."""

    kind: str
    patterns: tuple[re.Pattern[str], ...]
    signs: Signs | None
    is_valid: Callable[[str], bool] | None
    """Says of a match whether it is one at all, where the shape alone does not tell."""


@cache
def is_installed() -> bool:
    """Whether secrets can be looked for."""
    return find_spec("detect_secrets") is not None


def require() -> None:
    """Raise `UsageError` where secrets cannot be looked for."""
    if not is_installed():
        raise UsageError("secrets are looked for with detect-secrets, which is not installed", hint=HINT)


def not_looked_for(select: Iterable[str], ignore: Iterable[str]) -> list[str]:
    """What the caller of a validation should know: that S-7 was wanted, and nothing looked for it."""
    if is_installed() or "S-7" not in chosen(list(select), list(ignore)):
        return []
    return [f"secrets were not looked for: {HINT}"]


def secrets(page: Page) -> Iterator[Fault]:
    """S-7: private keys and tokens of a well-known shape. What was found is not repeated in the message."""
    if not is_installed():
        return
    usual = {page.uuid, f'"{page.created}"', f'"{page.updated}"'}
    long = [word[:MAX_CHARS] for word in page.text.split() if len(word) >= LONG_WORD and word not in usual]
    folded = page.text.casefold()
    if not long and _all_have_signs() and not any(map(folded.__contains__, _IN_TEXT)):
        return
    words = "\n".join(["", *long, ""])
    folded_words = words.casefold()
    has_run = _LONG_RUN.search(folded_words) is not None
    found: list[tuple[int, str]] = []
    for shape in _shapes():
        signs = shape.signs
        if (
            signs is None
            or (has_run and signs.run)
            or any(map(folded_words.__contains__, signs.words))
            or any(map(folded.__contains__, signs.text))
        ):
            places = _in_words(page.text, words, shape) if signs and signs.is_word else _in_lines(page.text, shape)
            found += ((at, f"looks like a secret: {shape.kind}") for at in places)
    yield from by_line(page, "S-7", sorted(found))


def _in_words(text: str, words: str, shape: Shape) -> Iterator[int]:
    """Where matches begin that are words of a text."""
    for pattern in shape.patterns:
        at = 0
        for match in pattern.finditer(words):
            at = text.index(match[0].strip(), at)
            if _is_meant(match, shape):
                yield at
            at += 1


def _in_lines(text: str, shape: Shape) -> Iterator[int]:
    """Where matches begin, each line by itself."""
    signs = (*shape.signs.words, *shape.signs.text) if shape.signs else ()
    start = 0
    for line in text.splitlines(keepends=True):
        if not signs or any(map(line.casefold().__contains__, signs)):
            matches = (match for pattern in shape.patterns for match in pattern.finditer(line[:MAX_CHARS]))
            yield from (start + match.start() for match in matches if _is_meant(match, shape))
        start += len(line)


def _is_meant(match: re.Match[str], shape: Shape) -> bool:
    """Whether a match is more than the shape of a token, or a placeholder for a password."""
    if shape.is_valid is not None and not shape.is_valid(match[0]):
        return False
    return not (match.re.groups and match[1] and _PLACEHOLDERS.fullmatch(match[1]))


@cache
def _all_have_signs() -> bool:
    """Whether there is no detector but those whose signs are known."""
    return all(shape.signs for shape in _shapes())


@cache
def _shapes() -> list[Shape]:
    """What each detector looks for."""
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.plugins.base import RegexBasedDetector

    found: list[Shape] = []
    detectors: dict[str, Any] = get_mapping_from_secret_type_to_class()
    for kind, detector in sorted(detectors.items()):
        if issubclass(detector, RegexBasedDetector) and detector.__name__ not in EXCLUDED:
            is_valid = getattr(detector, "is_formally_valid", None)
            found.append(Shape(kind, tuple(detector.denylist), _SIGNS.get(detector.__name__), is_valid))
    return found
