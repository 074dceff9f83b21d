"""Which requirements an exchange over HTTP breaks: a judge of what a server answered, given the files it had."""

from __future__ import annotations

import base64
import datetime
import html
import io
import itertools
import json
import re
import sqlite3
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import jsonschema

from memoryfield.dates import moment_of
from memoryfield.page import Page

SCHEMA = Path(__file__).parents[2] / "spec" / "search-result.schema.json"
KNOWN = {"title", "uuid", "created", "updated", "summary", "tags", "source", "expires", "supersedes"}
_PAGE_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.md")
_LOOPBACK = re.compile(r"(127\.\d+\.\d+\.\d+|localhost|\[::1\])(:\d+)?")


@cache
def _schema() -> Any:
    return json.loads(SCHEMA.read_text(encoding="utf-8"))


def _body(message: dict[str, Any]) -> bytes:
    if "body_base64" in message:
        return base64.b64decode(message["body_base64"])
    if "json" in message:
        return json.dumps(message["json"]).encode()
    return str(message.get("body", "")).encode()


def alternatives(exchange: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The exchanges that an exchange stands for: one for each choice where several statuses will do."""
    given = [one["response"]["status"] for one in exchange]
    for chosen in itertools.product(*(status if isinstance(status, list) else [status] for status in given)):
        yield [
            {**one, "response": {**one["response"], "status": status}}
            for one, status in zip(exchange, chosen, strict=True)
        ]


class Server:
    """What a server must hold after each request, and what its answers break.

    Args:
        folder: the files that it has in the beginning.
        settings: the key `server` of a case: what the server lists, hides, and whom it knows.
    """

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.folder = folder
        self.lists = bool(settings.get("lists"))
        self.hidden = set(settings.get("hides", []))
        self.users: dict[str, str] = settings.get("users", {})
        self.pages = {file.name: file.read_bytes() for file in folder.glob("*.md") if _PAGE_NAME.fullmatch(file.name)}
        self.changed: dict[str, bytes | None] = {}
        """What each page that was written or deleted was before; None for a new one."""
        self.kept_uuids: dict[str, str] = {}

    def breaks(self, exchange: list[dict[str, Any]]) -> set[str]:
        """The requirements that the answers break."""
        return {broken for one in exchange for broken in self._judged(one["request"], one["response"])}

    def _judged(self, request: dict[str, Any], response: dict[str, Any]) -> Iterator[str]:
        address = urlsplit(request["path"])
        name = unquote(address.path.removeprefix("/"))
        if request["method"] == "PUT":
            yield from self._put(name, request, response)
        elif request["method"] == "DELETE":
            yield from self._delete(name, request, response)
        elif address.path == "/search":
            yield from self._search(parse_qs(address.query)["q"][0], response)
        elif name == "":
            yield from self._root(response)
        elif name == "memoryfield.zip":
            yield from self._archive(response)
        else:
            yield from self._get(name, response)

    # reading

    def _root(self, response: dict[str, Any]) -> Iterator[str]:
        body = _body(response).decode()
        listed = self.lists and response["status"] == 200 and all(name in body for name in self.pages)
        if "index.md" in self.pages and not listed and body.encode() != self.pages["index.md"]:
            yield "T-5"
        is_html = response.get("headers", {}).get("Content-Type", "").startswith("text/html")
        titles = (Page(name, raw).title for name, raw in self.pages.items())
        if is_html and any(title != html.escape(title) and title in body for title in titles):
            yield "S-11"

    def _archive(self, response: dict[str, Any]) -> Iterator[str]:
        if response["status"] != 200:
            yield from () if self.hidden else ("T-7",)
            return
        with zipfile.ZipFile(io.BytesIO(_body(response))) as archive:
            held = {name: archive.read(name) for name in archive.namelist()}
        if held.items() < self.pages.items():
            yield "T-7"
        if self.hidden & held.keys():
            yield "S-3"

    def _get(self, name: str, response: dict[str, Any]) -> Iterator[str]:
        status, body = response["status"], _body(response)
        if "/" in name or "\\" in name:
            if status == 200:
                yield "S-1"
        elif name not in self.pages:
            if status == 200:
                yield "T-18" if name in self.changed else "T-6"
        elif name in self.hidden and status in (401, 403, 404):
            return
        elif status != 200:
            yield "T-6"
            yield from self._why_not_given(Page(name, self.pages[name]))
        elif name in self.kept_uuids:
            yield from self._merged(name, body)
        elif name == "listing.md" and self.changed:
            if any(page not in body.decode() for page in self.pages if page != name):
                yield "T-17"
        elif body != self.pages[name]:
            yield "T-11" if name in self.changed else "T-6"

    @staticmethod
    def _why_not_given(page: Page) -> Iterator[str]:
        """The requirement of a server that fails on what is odd about a page."""
        if page.problems:
            yield "P-11"
        elif page.size > 8192:
            yield "P-5"
        elif page.frontmatter.keys() - KNOWN:
            yield "F-2"
        elif not page.has_frontmatter:
            yield "F-1"

    def _merged(self, name: str, body: bytes) -> Iterator[str]:
        """A page that was written without a uuid: all else is as it was sent."""
        given, sent = Page(name, body), Page(name, self.pages[name])
        if given.uuid != self.kept_uuids[name]:
            yield from ("T-13", "F-12")
        elif given.body != sent.body or given.frontmatter != sent.frontmatter | {"uuid": given.uuid}:
            yield "T-11"

    # searching

    def _search(self, query: str, response: dict[str, Any]) -> Iterator[str]:
        answer = response.get("json")
        if response["status"] != 200 or answer is None:
            yield "T-8"
            return
        if list(jsonschema.Draft202012Validator(_schema()).iter_errors(answer)):
            yield "Q-1"
        results = answer.get("results") if isinstance(answer, dict) else None
        if results is None or not all({"filename", "frontmatter"} <= one.keys() for one in results):
            yield "T-9"
            return
        scores = [one["score"] for one in results if "score" in one]
        if scores != sorted(scores, reverse=True):
            yield "T-9"
        for one in results:
            yield from self._result(one)
        yield from self._missing(query, answer, {one["filename"] for one in results})

    def _result(self, result: dict[str, Any]) -> Iterator[str]:
        name = result["filename"]
        if name not in self.pages:
            yield self._why_no_page(name)
            return
        page = Page(name, self.pages[name])
        if name in self._stale():
            yield self._stale()[name]
        given, own = result["frontmatter"], page.frontmatter if page.has_frontmatter else None
        if given == own or (name in self.kept_uuids and given == {**(own or {}), "uuid": self.kept_uuids[name]}):
            return
        if given is None or own is None:
            yield "T-9"
        elif given in self._indexed(name):
            yield "X-11"
        elif page.problems and not given.items() >= own.items():
            yield "F-20"
        elif any(isinstance(value, str) and value not in page.text for value in given.values()):
            yield "S-4"

    def _why_no_page(self, name: str) -> str:
        if name in self.changed:
            return "T-18"
        if "/" in name:
            return "C-3"
        if name.startswith("."):
            return "C-6"
        return "C-5" if name.endswith(".md") or name.endswith("~") else "C-4"

    def _indexed(self, name: str) -> list[Any]:
        """What the indexes say of a page."""
        found = []
        for file in self.folder.glob("*.sqlite3"):
            connection = sqlite3.connect(file)
            rows = connection.execute("SELECT frontmatter FROM pages WHERE filename = ?", (name,))
            found += [json.loads(row[0]) for row in rows]
            connection.close()
        return found

    def _missing(self, query: str, answer: dict[str, Any], found: set[str]) -> Iterator[str]:
        for name, raw in self.pages.items():
            page = Page(name, raw)
            held = "\n".join((name, page.title, page.summary)).casefold()
            if query.casefold() not in held or name in found:
                continue
            if name not in self._stale():
                yield "T-17" if name in self.changed else "T-10"
            elif not answer.get("notes"):
                yield from ("Q-2", self._stale()[name])

    def _stale(self) -> dict[str, str]:
        """The pages that a search should leave out, and by which requirement."""
        pages = [Page(name, raw) for name, raw in self.pages.items()]
        now = int(datetime.datetime.now(datetime.UTC).timestamp() * 1_000_000_000)
        superseded = {uuid: page.filename for page in pages for uuid in page.supersedes}
        stale = {page.filename: "K-8" for page in pages if superseded.get(page.uuid, page.filename) != page.filename}
        for page in pages:
            ends = moment_of(page.frontmatter.get("expires"), end_of_day=True)
            if ends is not None and ends < now:
                stale[page.filename] = "K-4"
        return stale

    # writing

    def _put(self, name: str, request: dict[str, Any], response: dict[str, Any]) -> Iterator[str]:
        status, raw, stored = response["status"], _body(request), self.pages.get(name)
        if not self._may_write(request):
            yield from self._unauthorised(response)
            return
        page = Page(name, raw)
        clash = stored is not None and page.uuid and Page(name, stored).uuid not in ("", page.uuid)
        if not _PAGE_NAME.fullmatch(name) or not raw:
            yield from () if status == 400 else ("T-14",)
        elif not page.is_utf8:
            yield from () if status == 415 else ("T-15",)
        elif clash:
            yield from () if status == 409 else ("T-12", "F-12")
        elif status == 412 and "If-Match" in request.get("headers", {}):
            return
        elif status == 428:
            yield "T-19"
        elif status >= 400:
            yield "T-11" if page.has_frontmatter else "T-16"
        elif status != (201 if stored is None else 204):
            yield "T-11"
        else:
            self._store(page, stored)

    def _store(self, page: Page, stored: bytes | None) -> None:
        self.changed[page.filename] = stored
        self.pages[page.filename] = page.raw
        uuid = Page(page.filename, stored).uuid if stored else ""
        self.kept_uuids.pop(page.filename, None)
        if uuid and not page.uuid:
            self.kept_uuids[page.filename] = uuid

    def _delete(self, name: str, request: dict[str, Any], response: dict[str, Any]) -> Iterator[str]:
        if not self._may_write(request):
            yield from self._unauthorised(response)
        elif response["status"] != (204 if name in self.pages else 404):
            yield "T-18"
        else:
            self.changed[name] = self.pages.pop(name, None)

    def _may_write(self, request: dict[str, Any]) -> bool:
        headers = request.get("headers", {})
        logins = (base64.b64encode(f"{name}:{word}".encode()).decode() for name, word in self.users.items())
        return (
            headers.get("Authorization") in {f"Basic {login}" for login in logins}
            or _LOOPBACK.fullmatch(headers.get("Host", "")) is not None
        )

    @staticmethod
    def _unauthorised(response: dict[str, Any]) -> Iterator[str]:
        if response["status"] not in (401, 403):
            yield "T-21"
        elif response["status"] == 401 and not response.get("headers", {}).get("WWW-Authenticate", "").startswith(
            "Basic"
        ):
            yield "T-20"
