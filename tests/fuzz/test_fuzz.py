"""What must hold for any bytes, tried on the seeds and on random pages; for long with MEMORYFIELD_FUZZ_MINUTES."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .harness import BLOCKS, CHECKS, SEEDS, WORDS, seeds

MINUTES = float(os.environ.get("MEMORYFIELD_FUZZ_MINUTES", "0"))

soups = st.lists(
    st.sampled_from([*WORDS, *BLOCKS, "\n", "\n", " ", "a", "a: ", "n: 1\n"])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    max_size=25,
).map("".join)
texts = st.one_of(
    st.sampled_from(SEEDS),
    soups,
    st.builds("---\n{}{}\n---\n{}".format, st.sampled_from(BLOCKS), soups, soups),
    st.builds("---\n{}{}---\n{}".format, soups, st.sampled_from(BLOCKS), soups),
    st.builds("+++\na = 1\n{}\n+++\n{}".format, soups, soups),
    st.builds('{{\n"title": {}\n}}\n{}'.format, soups, soups),
)
other_ends = st.builds(str.replace, texts, st.just("\n"), st.sampled_from(["\r\n", "\r"]))
pages = (texts | other_ends).map(str.encode) | st.binary(max_size=300)
first_lines = st.builds("{}{}\n".format, st.characters(max_codepoint=127, exclude_characters="\n"), soups).map(
    str.encode
)
INPUTS = {"parser": pages, "writer": st.builds(bytes.__add__, first_lines, pages)}


@pytest.mark.parametrize("name", CHECKS)
def test_the_seeds_hold(name: str) -> None:
    for seed in seeds(name):
        CHECKS[name](seed)


@pytest.mark.parametrize("name", CHECKS)
def test_random_pages_hold(name: str) -> None:
    @settings(
        max_examples=5000 if MINUTES else 300, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(INPUTS[name])
    def check(raw: bytes) -> None:
        CHECKS[name](raw)

    end = time.monotonic() + MINUTES * 60
    check()
    while time.monotonic() < end:
        check()
