"""S-7. Every key and token is put together here, so that no scanner stumbles over this file."""

from __future__ import annotations

import importlib
import random
import re
import string
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from memoryfield.errors import UsageError
from memoryfield.page import Page
from memoryfield.validation import secrets as module

from .support import check_page, only, page, told

pytest.importorskip("detect_secrets")

RANDOM = random.Random(7)
ALNUM = string.ascii_letters + string.digits


def some(count: int, letters: str = ALNUM) -> str:
    return "".join(RANDOM.choices(letters, k=count))


def dashed(kind: str) -> str:
    return f"-----{'BEGIN'} {kind}-----"


JWT = ".".join(["ey" + "JhbGciOiJIUzI1NiJ9", "ey" + "JzdWIiOiIxMjM0In0", some(43)])

TOKENS = {
    "GitHub": "ghp" + "_" + some(36),
    "GitLab": "glpat" + "-" + some(20),
    "AWS": "AKIA" + some(16, string.ascii_uppercase + string.digits),
    "AWS secret": "aws_secret_access_key = " + repr(some(40)),
    "Slack": "xoxb" + "-" + some(12, string.digits) + "-" + some(24, string.ascii_lowercase),
    "Slack hook": "https://hooks." + "slack.com/services/" + "/".join(["T" + some(8), "B" + some(8), some(24)]),
    "Stripe": "sk" + "_live_" + some(24),
    "OpenAI": "sk" + "-" + some(20) + "T3Blbk" + "FJ" + some(20),
    "PyPI": "pypi" + "-AgEIcHlwaS5vcmc" + some(80),
    "SendGrid": "SG" + "." + some(22) + "." + some(43),
    "npm": "//registry.npmjs.org/:_authToken=" + "npm_" + some(36),
    "Telegram": some(9, string.digits) + ":" + some(35),
    "Twilio": "SK" + some(32, "abcdef" + string.digits),
    "Mailchimp": some(32, "abcdef" + string.digits) + "-us12",
    "Azure": "AccountKey=" + some(86) + "==",
    "Discord": "M" + some(23) + "." + some(6) + "." + some(27),
    "Square": "sq0" + "csp-" + some(43),
    "Artifactory": "AKC" + some(30),
    "JWT": JWT,
    "Basic auth": "https://ann:" + some(12) + "@example.com/",
    "IBM": "apikey: " + some(44),
    "RSA": dashed("RSA PRIVATE" + " KEY"),
    "OpenSSH": dashed("OPENSSH PRIVATE" + " KEY"),
    "PGP": dashed("PGP PRIVATE" + " KEY BLOCK"),
    "PuTTY": "PuTTY-User-" + "Key-File-2: ssh-rsa",
}


FORMS = ["the key {} is", "`{}`", "KEY={}", '"{}",', "```\n{}\n```", "| {} |"]
PAIRS = [(kind, form) for kind in TOKENS for form in FORMS if (kind, form) != ("Artifactory", "`{}`")]
"""Artifactory's pattern wants a space around a token, or a double quote."""


@pytest.mark.parametrize(("kind", "form"), PAIRS)
def test_a_secret_is_a_warning_at_its_line_and_is_not_repeated(tmp_path: Path, kind: str, form: str) -> None:
    body = "Text\n\n" + form.format(TOKENS[kind])
    fault = only(check_page(tmp_path, page(body=body), select="S-7"))
    assert (fault.line, fault.severity) == (11 if "\n" in form else 10, "warning")
    assert fault.column > 0
    assert fault.source == ""  # nor is it shown: a report goes where the page does not
    assert TOKENS[kind] not in fault.message


def test_the_column_is_that_of_the_secret_also_when_it_occurs_twice(tmp_path: Path) -> None:
    token = TOKENS["GitHub"]
    found = check_page(tmp_path, page(body=f"one {token}\ntwo   {token} {token}"), select="S-7")
    assert told(found) == ["a.md:8:5 warning S-7", "a.md:9:7 warning S-7"]


def test_frontmatter_is_looked_at_too(tmp_path: Path) -> None:
    found = check_page(tmp_path, page(more=f"token: {TOKENS['GitLab']}\n"), select="S-7")
    assert told(found) == ["a.md:6:8 warning S-7"]


@pytest.mark.parametrize(
    "text",
    [
        "The password is in the safe; the secret of a good wok is oil. api_key, token: none.",
        "f1d2d2f924e986ac86fdf7b36c94bcdf32beec15 and sha256 " + "9f86d081884c7d65" * 4,
        "192.168.1.1, 10.0.0.1, 2001:db8::1, commit 1e3bbf5",
        "postgres://user:password@localhost/db, https://<user>:<password>@host, ftp://u:xxx@h, http://a:...@b",
        "https://example.com:8080/a@b, mailto:a@b.example, user@host:/path, git@github.com:a/b.git",
        "ey" + "Jabc.def is no token, and " + "sk-" + "learn is a package; APACHE_RUN_USER and Accountability",
        "aws s3 cp 'a' 'b' --profile mine; export AWS_REGION=eu-west-1; laws, draws",
        "antidisestablishmentarianism_and_other_words-that-are-very-long-and-hyphenated-like-this-one-is",
        "data:image/png;base64," + "iVBORw0KGgo" + "A" * 200,
        "SKU numbers AC12 and SK8; a GHP meeting; npm _authToken in .npmrc",
        "The file begins with BEGIN CERTIFICATE, or BEGIN PUBLIC KEY.",
    ],
)
def test_what_only_speaks_of_secrets_is_no_fault(tmp_path: Path, text: str) -> None:
    assert [str(fault) for fault in check_page(tmp_path, page(body=text), select="S-7")] == []


# nothing is lost by looking for signs first


PATTERNS = [(shape, pattern) for shape in module._shapes() for pattern in shape.patterns]


def test_every_detector_is_known() -> None:
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    detectors: dict[str, Any] = get_mapping_from_secret_type_to_class()
    assert {detector.__name__ for detector in detectors.values()} == {*module.EXCLUDED, *module._SIGNS}


@pytest.mark.parametrize(
    ("shape", "pattern"), PATTERNS, ids=[f"{shape.kind}-{at}" for at, (shape, _) in enumerate(PATTERNS)]
)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_a_pattern_matches_is_found(
    shape: module.Shape, pattern: re.Pattern[str], data: st.DataObject
) -> None:
    match = data.draw(st.from_regex(pattern, fullmatch=True))
    assume(not re.search(r"[^\S ]", match.strip()))  # each line is looked at by itself
    assume(shape.kind != "Artifactory Credentials" or len(match.strip()) >= module.LONG_WORD)
    before = data.draw(st.sampled_from(["", "the key ", '"', "=", "(see "]))
    text = f"One\n{before}{match.strip()} and more\n"
    expected = [found for found in pattern.finditer(text) if module._is_meant(found, shape)]
    lines = {text.count("\n", 0, found.start() + len(found[0]) - len(found[0].lstrip())) + 1 for found in expected}
    assert lines <= {fault.line for fault in module.secrets(Page("a.md", text.encode("utf-8", "replace")))}


@pytest.mark.parametrize(
    "text", ["ey" + "J" * 200_000, "eyJ" * 100_000, "//" * 100_000 + ":_authToken=", "sk-" * 100_000, "://a" * 100_000]
)
def test_no_page_takes_more_than_linear_time(text: str) -> None:
    def seconds(given: str) -> float:
        start = time.process_time()
        list(module.secrets(Page("a.md", given.encode())))
        return time.process_time() - start

    seconds("warm")
    once = min(seconds(text[-len(text) // 4 :]) for _ in range(2))
    assert min(seconds(text) for _ in range(2)) < 12 * once + 0.05


# where detect-secrets is not installed


@pytest.fixture
def without_it(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """detect-secrets is not installed."""
    module._shapes.cache_clear()
    module.is_installed.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "detect_secrets"]:
        monkeypatch.delitem(sys.modules, name)
    real = importlib.util.find_spec
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == "detect_secrets" else real(name))
    yield
    module._shapes.cache_clear()
    module.is_installed.cache_clear()


@pytest.mark.usefixtures("without_it")
@pytest.mark.parametrize("select", ["", "S", "F,S"])
def test_without_detect_secrets_nothing_is_looked_for(tmp_path: Path, select: str) -> None:
    assert told(check_page(tmp_path, page(body=TOKENS["GitHub"]), select=select)) == []
    assert not [name for name in sys.modules if name.partition(".")[0] == "detect_secrets"]


@pytest.mark.usefixtures("without_it")
@pytest.mark.parametrize("select", ["S-7", "s-7", "F, S-7"])
def test_who_asks_for_secrets_is_told_what_to_install(tmp_path: Path, select: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_page(tmp_path, page(), select=select)
    assert "memoryfield-cli[secrets]" in str(caught.value)


def test_secrets_can_be_left_out(tmp_path: Path) -> None:
    assert told(check_page(tmp_path, page(body=TOKENS["GitHub"]), ignore="S-7")) == []
