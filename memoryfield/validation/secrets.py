"""S-7: secrets in the open, found with detect-secrets where that is installed (the extra `secrets`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

from ..errors import UsageError
from ..page import Page
from .report import Fault

HINT = "pip install 'memoryfield-cli[secrets]'"
EXCLUDED = {"IPPublicDetector", "KeywordDetector", "Base64HighEntropyString", "HexHighEntropyString"}
"""What these take for a secret is, in prose, nearly always none: addresses, the word "password", hashes."""


def is_installed() -> bool:
    """Whether secrets can be looked for."""
    return find_spec("detect_secrets") is not None


def require() -> None:
    """Raise `UsageError` where secrets cannot be looked for."""
    if not is_installed():
        raise UsageError("secrets are looked for with detect-secrets, which is not installed", hint=HINT)


def secrets(page: Page) -> Iterator[Fault]:
    """S-7: private keys and tokens of a well-known shape. What was found is not repeated in the message."""
    text, seen = page.text, set()
    for kind, pattern in _shapes():
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            if (line, kind) not in seen:
                seen.add((line, kind))
                column = match.start() - text.rfind("\n", 0, match.start())
                yield Fault(page.filename, line, column, "S-7", f"looks like a secret: {kind}")


@cache
def _shapes() -> list[tuple[str, re.Pattern[str]]]:
    """What each detector looks for, and what it calls it."""
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.plugins.base import RegexBasedDetector

    found: list[tuple[str, re.Pattern[str]]] = []
    detectors: dict[str, Any] = get_mapping_from_secret_type_to_class()
    for kind, detector in sorted(detectors.items()):
        if issubclass(detector, RegexBasedDetector) and detector.__name__ not in EXCLUDED:
            found += [(kind, pattern) for pattern in detector.denylist]
    return found
