"""R-6: text that tells whoever reads it what to do, where that is a model rather than a person."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ..page import Page
from .report import Fault
from .text import by_line

# Everything is in lowercase, as is the text in which it is looked for: that is many times quicker than to ignore case.
_GAP = r"[\s*_>`'\"-]{1,9}"
"""Between two words: spaces, a line's end, emphasis, the mark of a quotation. Bounded, so that nothing takes long."""
_IGNORE = rf"\b(?:ignore|disregard|forget|override|bypass){_GAP}"
_NOT_FOLLOW = rf"\b(?:(?:do not|don['’]t) follow|stop following){_GAP}"
_FILLERS = rf"(?:(?:all|any|every|everything|of|the|my|these|those){_GAP}){{0,4}}"
_EARLIER = rf"(?:(?:previous|prior|above|earlier|preceding|foregoing|original|initial|system|safety|other){_GAP})"
_ORDERS = r"(?:instructions?|directions|directives?|guidelines|prompts?|programming)\b"
_BOUNDS = r"(?:rules?|messages?|commands?|context|constraints?|restrictions?|training|safeguards)\b"
_MODEL = r"(?:(?:ai|llm)s?(?: (?:assistant|agent|model)s?)?|language models?)"
_SECRET = rf"(?:(?:hidden|full|entire|exact|secret|own|complete|original|initial){_GAP}){{0,3}}"

_IGNORING = (
    rf"{_IGNORE}{_FILLERS}(?:your{_GAP})?{_EARLIER}{{1,4}}{_ORDERS}",
    rf"(?:{_IGNORE}|{_NOT_FOLLOW}){_FILLERS}your{_GAP}{_EARLIER}{{0,4}}(?:{_ORDERS}|{_BOUNDS})",
    rf"{_IGNORE}(?:all|any|every){_GAP}{_FILLERS}(?:{_ORDERS}|{_EARLIER}{{1,4}}{_BOUNDS})",
    rf"{_IGNORE}{_FILLERS}{_ORDERS}{_GAP}(?:above|before{_GAP}this|you{_GAP}(?:were|have)\b)",
    rf"{_IGNORE}(?:everything|all){_GAP}(?:that{_GAP}(?:was|came|is){_GAP})?(?:above|before)"
    rf"(?=[\s\"')*]{{0,9}}(?:[.,;:!?—–-]|\Z)|{_GAP}(?:and|this)\b)",
    rf"{_IGNORE}(?:everything|all)(?:{_GAP}that)?{_GAP}you(?:{_GAP}were|{_GAP}have{_GAP}been|['’]ve{_GAP}been)"
    rf"{_GAP}(?:told|given|taught|instructed)\b",
    rf"{_IGNORE}(?:all{_GAP}(?:of{_GAP})?)?the{_GAP}above{_GAP}(?:and|but)\b",
)
_ASKING = (
    rf"\b(?:reveal|print|repeat|show|output|leak|display|tell|give){_GAP}(?:(?:me|us){_GAP})?(?:your|the){_GAP}"
    rf"{_SECRET}system{_GAP}prompt\b(?!{_GAP}(?:of|for)\b)",
    rf"\bwhat(?:['’]s|{_GAP}(?:is|are|was)){_GAP}your{_GAP}{_SECRET}system{_GAP}prompt\b",
)
_ANEW = (
    r"(?:^|[.!?] )[\s*_>#-]{0,9}(?:(?:new|real|actual) (?:system )?|updated system )instructions?[*_ ]{0,3}:",
    rf"\b(?:new|real|actual|updated){_GAP}instructions?{_GAP}(?:for|to){_GAP}(?:you|(?:the{_GAP})?{_MODEL})\b",
)
_POSING = (rf"\byou are now{_GAP}(?:(?:in|an?){_GAP})?(?:dan\b|developer mode|jailbroken|unrestricted|unfiltered)",)
_HIDING = (r"\b(?:do not|don['’]t|never) (?:tell|inform|mention (?:this|it) to) the user\b(?!['’]s)",)
_CALLING = (
    rf"\b(?:note|attention|message|instructions?|important)\W{{0,3}}(?:(?:to|for) )?(?:(?:the|any|all) )?{_MODEL}:",
    rf"\bif you are (?:an? )?{_MODEL}(?:\s?[.,:;!]|\s(?:reading|processing)\b)",
    rf"\b{_MODEL} reading this\b",
)
_MARKS = (
    r"<\|(?:im_start|im_end|system|endoftext|start_header_id|eot_id)\|>|\[/?inst\]|<</?sys>>|</?system>",
    r"^#{1,4} system\s?:",
)
_IN_OTHER_LANGUAGES = (
    rf"\b(?:ignorieren?|vergiss){_GAP}(?:sie{_GAP})?(?:bitte{_GAP})?(?:alle{_GAP})?"
    rf"(?:(?:deine|ihre|die){_GAP})?(?:vorherigen|bisherigen|vorigen|obigen|früheren|vorangegangenen){_GAP}"
    rf"(?:anweisungen|instruktionen|befehle)\b",
    rf"\b(?:ignore[rz]?|oublie[rz]?){_GAP}(?:toutes{_GAP})?(?:les|vos|tes){_GAP}(?:instructions|consignes|directives)"
    rf"{_GAP}(?:pr[ée]c[ée]dentes|ant[ée]rieures|ci-dessus)",
    rf"\b(?:ignor[ae]|olvid[ae]){_GAP}(?:(?:todas|tutte){_GAP})?(?:(?:las|tus|le|queste|as){_GAP})?"
    rf"(?:instrucciones|indicaciones|istruzioni|instruções){_GAP}(?:anteriores|previas|precedenti|acima)\b",
)
_IN_OTHER_SCRIPTS = (
    r"忽略(?:你)?(?:所有)?(?:之前|以上|先前|上述|前面)的?(?:所有)?(?:指令|指示|提示)",
    r"(?:以前|上記|これまで)の(?:すべての|全ての)?(?:指示|命令)を(?:すべて)?無視",
    rf"(?:игнорируй|забудь)(?:те)?{_GAP}(?:все{_GAP})?(?:предыдущие|прежние|вышеуказанные){_GAP}"
    r"(?:инструкции|указания|команды)",
)

_SHAPES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("ignore", "disregard", "forget", "override", "bypass", "follow"), _IGNORING),
    (("prompt",), _ASKING),
    (("instruction",), _ANEW),
    (("you are now",), _POSING),
    (("the user",), _HIDING),
    (("if you are", "reading this", "ai:", "ai a", "ai m", "llm", "language model"), _CALLING),
    (("<|", "inst]", "sys>>", "system>", "# system"), _MARKS),
    (("ignor", "vergiss", "oubli", "olvid"), _IN_OTHER_LANGUAGES),
)
"""What is looked for, and before it the words of which one is always in it: to look for those is quick."""
_SHAPES_BEYOND_ASCII = (*_SHAPES, (("忽略", "無視", "игнорируй", "забудь"), _IN_OTHER_SCRIPTS))


@cache
def _pattern(shapes: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(shapes), re.MULTILINE)


def addresses_a_model(page: Page) -> Iterator[Fault]:
    """R-6: “ignore previous instructions” and its family, and the marks of a model's own dialogue."""
    lowered = _lowered(page.text)
    known = _SHAPES if lowered.isascii() else _SHAPES_BEYOND_ASCII
    shapes = [shapes for cues, shapes in known if any(map(lowered.__contains__, cues))]
    matches = [match.span() for group in shapes for match in _pattern(group).finditer(lowered)]
    found = ((start, " ".join(page.text[start:end].split())) for start, end in sorted(matches))
    yield from by_line(page, "R-6", ((at, f"addresses a model that reads it: “{words}”") for at, words in found))


def _lowered(text: str) -> str:
    """A text in lowercase, each character in its place."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := character.lower()) == 1 else character for character in text)
