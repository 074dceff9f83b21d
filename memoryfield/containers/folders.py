"""Folders of the user's own: the cache, and the one in which names of fields are kept."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

CACHE_VARIABLE = "MEMORYFIELD_CACHE"
CONFIG_VARIABLE = "MEMORYFIELD_CONFIG"


def cache_folder(name: str) -> Path | None:
    """A folder of the cache, made if need be; None if there is none that is the user's alone.

    MEMORYFIELD_CACHE names another place than the system's usual one; set to nothing, there is no cache.
    """
    given = os.environ.get(CACHE_VARIABLE)
    if given == "":
        return None
    try:
        if given:
            base = Path(given)
        else:
            import platformdirs

            base = platformdirs.user_cache_path("memoryfield", appauthor=False)
        folder = base / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
        if not is_ours(found):
            return None
        if os.name == "posix" and found.st_mode & 0o077:
            if found.st_mode & 0o022:
                return None
            folder.chmod(0o700)
        return folder
    except (OSError, RuntimeError):  # no permission; no home
        return None


def config_folder() -> Path:
    """Where the user's own settings lie; not made. MEMORYFIELD_CONFIG names another place than the usual one."""
    if given := os.environ.get(CONFIG_VARIABLE):
        return Path(given)
    if sys.platform == "linux":  # as platformdirs has it, whose import takes longer than all else of finding a name
        base = os.environ.get("XDG_CONFIG_HOME", "").strip()
        return (Path(base) if base else Path("~/.config").expanduser()) / "memoryfield"
    import platformdirs

    return platformdirs.user_config_path("memoryfield", appauthor=False)


def is_ours(found: os.stat_result) -> bool:
    """Whether a file is the user's; where files have no owners, each is."""
    return os.name != "posix" or found.st_uid == os.geteuid()


def is_planted(found: os.stat_result, folder: Path) -> bool:
    """Whether somebody put a file into another's folder, as anybody can in /tmp: it is not its owner's, nor ours."""
    if os.name != "posix" or found.st_uid in (os.geteuid(), 0):
        return False
    return found.st_uid != folder.stat().st_uid


def is_regular(found: os.stat_result) -> bool:
    """Whether it is a file, and no folder, pipe or device."""
    return stat.S_ISREG(found.st_mode)
