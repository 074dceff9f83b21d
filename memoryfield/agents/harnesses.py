"""The harnesses that agents run in: their names, where each looks for skills, and how one sees that it is used here.

Every folder and every variable is from the documentation that the row names.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from ..errors import UsageError

SCOPES = ("project", "user")
SHARED = ".agents/skills"
"""The folder that most harnesses read besides their own, in a project and in the home folder."""


class Named(Protocol):
    """What has the name of a harness."""

    @property
    def name(self) -> str:
        """As `--agent` has it."""


H = TypeVar("H", bound=Named)


class Place(NamedTuple):
    """A path of the user's: under the folder that a variable names, else under one in the home folder."""

    variable: str
    default: str
    rest: str = ""

    def path(self) -> Path:
        """Where that is now.

        Raises:
            UsageError: there is no home folder, or the variable is no whole path. A harness takes such a one, and a
                `~` in it, from the folder on that it is started in: https://github.com/anthropics/claude-code/issues/78988
        """
        base = os.environ.get(self.variable, "").strip() if self.variable else ""
        if base and not Path(base).is_absolute():
            raise UsageError(f"{self.variable} is {base!r}, which is no whole path", hint="Set it to a whole one.")
        return (Path(base) if base else home() / self.default) / self.rest


class Harness(NamedTuple):
    """A harness and its skill folders. It is used here if one of its `signs` exists."""

    name: str
    title: str
    project: str
    user: Place
    project_signs: tuple[str, ...]
    user_sign: Place
    reads_shared: bool = True

    def folder(self, scope: str, root: Path) -> Path:
        """The folder of skills that is its own, of the project at `root` or of the user."""
        return root / self.project if scope == "project" else self.user.path()

    def is_used(self, scope: str, root: Path) -> bool:
        """Whether it left its traces in the home folder or, for a project, there."""
        signs = [self.user_sign.path()]
        if scope == "project":
            signs += [root / sign for sign in self.project_signs]
        return any(sign.exists() for sign in signs)


HARNESSES = (
    # https://code.claude.com/docs/en/skills; CLAUDE_CONFIG_DIR: https://code.claude.com/docs/en/claude-directory
    Harness(
        "claude-code",
        "Claude Code",
        ".claude/skills",
        Place("CLAUDE_CONFIG_DIR", ".claude", "skills"),
        (".claude", "CLAUDE.md"),
        Place("CLAUDE_CONFIG_DIR", ".claude"),
        reads_shared=False,
    ),
    # https://developers.openai.com/codex/skills; its own home, CODEX_HOME, is not where it looks for them
    Harness("codex", "Codex", SHARED, Place("", SHARED), (".codex",), Place("CODEX_HOME", ".codex")),
    # https://cursor.com/docs/skills
    Harness("cursor", "Cursor", ".cursor/skills", Place("", ".cursor/skills"), (".cursor",), Place("", ".cursor")),
    # https://docs.github.com/en/copilot/how-tos/copilot-on-github/customize-copilot/customize-cloud-agent/add-skills
    # COPILOT_HOME: https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-config-dir-reference
    Harness(
        "copilot",
        "GitHub Copilot",
        ".github/skills",
        Place("COPILOT_HOME", ".copilot", "skills"),
        (".github/skills", ".github/copilot-instructions.md"),
        Place("COPILOT_HOME", ".copilot"),
    ),
    # https://geminicli.com/docs/cli/using-agent-skills/
    # GEMINI_CLI_HOME: https://geminicli.com/docs/reference/configuration
    Harness(
        "gemini",
        "Gemini CLI",
        ".gemini/skills",
        Place("GEMINI_CLI_HOME", "", ".gemini/skills"),
        (".gemini", "GEMINI.md"),
        Place("GEMINI_CLI_HOME", "", ".gemini"),
    ),
    # https://opencode.ai/docs/skills; XDG_CONFIG_HOME: https://github.com/anomalyco/opencode/issues/6669
    Harness(
        "opencode",
        "OpenCode",
        ".opencode/skills",
        Place("XDG_CONFIG_HOME", ".config", "opencode/skills"),
        (".opencode", "opencode.json", "opencode.jsonc"),
        Place("XDG_CONFIG_HOME", ".config", "opencode"),
    ),
    # https://agentskills.io/client-implementation/adding-skills-support
    Harness("agents", "the shared folder", SHARED, Place("", SHARED), (".agents",), Place("", ".agents")),
)
"""In the order in which they are told."""


def home() -> Path:
    """The user's home folder.

    Raises:
        UsageError: there is none.
    """
    with suppress(RuntimeError):
        if Path.home().is_absolute() and os.environ.get("HOME") != "":
            return Path.home()
    raise UsageError("your home folder is not known", hint="Set HOME to a whole path, or use --project.")


def project_root(start: Path) -> Path:
    """The folder of the repository that `start` lies in, below the home folder; without one, `start` itself."""
    start = start.absolute()
    above = Path(os.path.expanduser("~"))  # noqa: PTH111 (where there is no home, this is no error)
    for folder in (start, *start.parents):
        if folder == above:
            break
        if (folder / ".git").exists():
            return folder
    return start


def named(names: Sequence[str], harnesses: Sequence[H]) -> list[H]:
    """Those of the harnesses that have these names, each once.

    Raises:
        UsageError: one is not known.
    """
    known = {harness.name: harness for harness in harnesses}
    for name in names:
        if name not in known:
            raise UsageError(f"no agent {name!r} is known", hint=f"They are {', '.join(known)}.")
    return [known[name] for name in dict.fromkeys(names)]


def used(scope: str, root: Path) -> list[Harness]:
    """The harnesses that are used here."""
    return [harness for harness in HARNESSES if harness.is_used(scope, root)]
