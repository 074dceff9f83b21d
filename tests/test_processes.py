"""Another process of ours runs our code, wherever it is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoryfield import processes
from memoryfield.index import beside


def test_no_code_of_the_current_folder_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be a field from elsewhere."""
    monkeypatch.chdir(tmp_path)
    for name in ("json.py", "pickle.py", "apsw.py"):
        Path(name).write_text("from pathlib import Path; Path('was-run').touch(); raise SystemExit\n")
    process = processes.start(beside.__name__, str(tmp_path / "words"))
    assert process is not None
    answer = process.communicate(timeout=30)[0]
    assert not Path("was-run").exists()
    assert answer == b"ready\n"
