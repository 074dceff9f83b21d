"""Indexes of archives, kept in the user's cache folder: a search need not inflate or make one each time.

An entry is an index file, made whole, renamed into place, and only ever read afterwards. What it
holds is a function of the archive's bytes, and so is its name: the sha256 of the whole file, taken
anew for each search (30 ms for 40 MB).

Why not less than that. Somebody may craft an archive with the directory of an honest one: same
names, sizes, CRCs (four free bytes are enough to forge a CRC32) and the same index, but other pages.
Were entries named by the directory and the index alone, searching the crafted archive once would
leave an index of its words under the honest one's name, and later searches of the honest one would
rank by them. Sizes and times can be given to any file. With the sha256 of every byte, another
archive has another entry, whatever its name, place, size and time are; one that is hostile spoils
only searches of itself, as it could without a cache. An archive that changes while it is read is
not kept: before the rename, its directory and its sha256 are compared with what was read. (Who can
change the file there and back between these moments can as well change it for good.)

The folder is the user's alone (0700), files are 0600; one that others could write is not used. A link
in an entry's place is replaced, never followed. A damaged entry is thrown away, and made anew.
Where nothing can be written, archives are searched as without a cache. MEMORYFIELD_CACHE names
another folder; set to nothing, it turns the cache off.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from ..containers import Container
from ..containers.folders import cache_folder, is_ours
from ..errors import IndexFileError
from ..names import INDEX_SUFFIX, is_page
from . import schema
from .store import JOURNAL, NO_WAL, IndexStore

if TYPE_CHECKING:
    from ..containers.archive import ArchiveContainer

MIN_ARCHIVE = 256 << 10
"""A smaller archive is searched quickly enough, and leaves nothing behind."""
HASH_PAYS = 8
"""Hashing so many bytes costs less than inflating one byte of an index; text costs as much again to index."""
MAX_TOTAL = 2 << 30
"""The folder's bytes: beyond, what was used longest ago goes. About 600,000 pages."""
MAX_UNUSED = 30 * 86_400
"""Seconds after which an entry that nobody used goes."""
TOUCH_AFTER = 3_600
"""Seconds within which a use is not noted again."""
MAX_INFLATED = 2 << 30
MAX_RATIO = 50
"""Vectors hardly shrink, words to a third: an index that grows more than this is a bomb, if it is large."""
HARMLESS = 64 << 20

_distrusted: set[str] = set()
"""Archives whose entry turned out damaged: done without a cache for the rest of this process."""


def check_size(container: Container, name: str) -> None:
    """Refuse an archive's index that would fill the memory or the disk.

    Raises:
        IndexFileError: it says itself that it is too large. (No more than that is ever inflated.)
    """
    archive = _archive(container)
    if archive is None:
        return
    size, packed = archive.entry(name).size, archive.packed_size(name)
    if size > MAX_INFLATED or size > max(HARMLESS, MAX_RATIO * packed):
        raise IndexFileError(
            f"{name} says that it inflates from {packed:,} to {size:,} bytes, and is not used",
            hint="If you trust the archive, unpack it and search the folder.",
        )


def slot(container: Container, name: str) -> Slot | None:
    """The place in the cache for an archive's index, or, without a name, for one made of its pages.

    Returns:
        None where there is none: a folder, an archive for which it would not pay, no cache folder.
    """
    archive = _archive(container)
    if archive is None or not _pays(archive, name):
        return None
    folder = cache_folder("archives")
    key = archive.sha256() if folder else ""
    if folder is None or not key or key in _distrusted:
        return None
    return Slot(folder, key, archive, name)


def keyword_index(container: Container, model: str) -> tuple[IndexStore, list[tuple[str, str]]]:
    """An index of the words alone, for a container that has no other: an archive's from the cache, else in memory.

    Returns:
        Also name and reason of each page that could not be read.
    """
    from .sync import sync

    place = slot(container, "")
    store = place.open(model, None) if place else None
    if store and store.is_current(container.fingerprint()):
        return store, []
    store = store or IndexStore.memory(model, None)
    store.to_memory()
    failed = sync(container, store, None).failed
    if place:
        place.keep(store, settled=not failed)
    return store, failed


def forget(container: Container) -> bool:
    """Throw away what is kept of an archive, and keep no more: it has turned out damaged.

    Returns:
        Whether anything may have been, so that trying again makes sense.
    """
    archive = _archive(container)
    folder = cache_folder("archives") if archive else None
    key = archive.sha256() if archive and folder else ""
    if not folder or not key or key in _distrusted:
        return False
    _distrusted.add(key)
    for path in folder.glob(f"{key}-*{INDEX_SUFFIX}"):
        _remove(path)
    return True


class Slot:
    """One entry's place. Nothing here raises because of the cache: it works, or it is as if there were none."""

    def __init__(self, folder: Path, key: str, archive: ArchiveContainer, name: str) -> None:
        self.archive = archive
        self.name = name
        kind = hashlib.sha256(f"{schema.VERSION}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self.path = folder / f"{key}-{kind}{INDEX_SUFFIX}"

    def open(self, model: str, dimensions: int | None) -> IndexStore | None:
        """The entry, read-only; None if there is none that can be used."""
        try:
            found = self.path.lstat()
            if not is_ours(found) or not stat.S_ISREG(found.st_mode):
                raise IndexFileError("a link or the like in the entry's place")
            store = IndexStore.open(self.path, model, dimensions, writable=False, name=self.name)
        except FileNotFoundError:
            return None
        except (OSError, IndexFileError, apsw.Error):
            _remove(self.path)
            return None
        if abs(time.time() - found.st_mtime) > TOUCH_AFTER:
            with suppress(OSError, NotImplementedError):
                os.utime(self.path)
            _trim(self.path)
        return store

    def filled(self, model: str, dimensions: int | None) -> IndexStore | None:
        """The entry; where there is none, first made of the archive's index as it is."""
        store = self.open(model, dimensions)
        if store is None and self._make(self._inflate):
            store = self.open(model, dimensions)
        return store

    def keep(self, store: IndexStore, *, settled: bool) -> None:
        """Make the entry anew from a store in memory, if anything in that was changed.

        Args:
            settled: nothing is missing in the store, so that later searches need not look.
        """
        if not store.writable:
            return
        fingerprint = self.archive.fingerprint()
        if settled and not store.is_current(fingerprint):
            store.mark_current(fingerprint)
        changes = store.connection.total_changes()
        if changes != store.kept_changes:
            store.kept_changes = changes
            self._make(lambda path: _vacuum_into(store, path))

    def _inflate(self, path: Path) -> None:
        import shutil

        with self.archive.open(self.name) as source, path.open("r+b") as file:
            shutil.copyfileobj(source, file, 1 << 20)
            file.seek(JOURNAL.start)
            file.write(NO_WAL)  # in WAL mode it could not be opened read-only

    def _make(self, fill: Callable[[Path], None]) -> bool:
        """Write the entry beside its place, flush it, rename it; nothing is left where that fails."""
        temporary = self.path.with_name(f".{os.urandom(8).hex()}.tmp")
        try:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            fill(temporary)
            with temporary.open("r+b") as file:
                os.fsync(file.fileno())
            if temporary.stat().st_size > MAX_TOTAL or not self.archive.is_unchanged():
                return False
            temporary.replace(self.path)
        except Exception:  # a full disk, no permission, and whatever zipfile lets through of a damaged entry
            return False
        finally:
            _remove(temporary)
        _trim(self.path)
        return True


def _vacuum_into(store: IndexStore, path: Path) -> None:
    store.connection.execute("VACUUM INTO ?", (str(path),))


def _archive(container: Container) -> ArchiveContainer | None:
    if container.location.is_dir():
        return None
    from ..containers.archive import ArchiveContainer

    return container if isinstance(container, ArchiveContainer) else None


def _pays(archive: ArchiveContainer, name: str) -> bool:
    """Whether hashing the archive costs less than inflating its index, or making one."""
    try:
        size = archive.location.stat().st_size
    except OSError:
        return False
    if size < MIN_ARCHIVE:
        return False
    if name:
        return size <= HASH_PAYS * archive.packed_size(name)
    return size <= HASH_PAYS * HASH_PAYS * archive.packed_size(*filter(is_page, archive.names()))


def _trim(kept: Path) -> None:
    """Remove what nobody used for long, and what is too much; never the entry at hand."""
    now = time.time()
    entries: list[tuple[float, int, Path]] = []
    with suppress(OSError):
        for path in kept.parent.iterdir():
            found = path.lstat()
            if path.name.endswith(".tmp"):
                if now - found.st_mtime > 86_400:  # of a process that was killed
                    _remove(path)
            elif path.name.endswith(INDEX_SUFFIX):
                entries.append((found.st_mtime, found.st_size, path))
    total = 0
    for used, size, path in sorted(entries, key=lambda entry: (entry[2] != kept, -entry[0])):
        total += size
        if path != kept and (total > MAX_TOTAL or now - used > MAX_UNUSED):
            _remove(path)
            total -= size


def _remove(path: Path) -> None:
    with suppress(OSError):  # also where Windows has it open
        path.unlink()
