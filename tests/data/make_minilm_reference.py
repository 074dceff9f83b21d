"""Compute the vectors of minilm-reference.json from the original float32 weights of all-MiniLM-L6-v2.

Run by hand, once; README.md beside this file says how. A plain forward pass of BERT (Devlin et al.,
2019) in numpy: it shares no code with memoryfield, and neither its tokenizer's file nor its weights.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

Array = NDArray[np.float32]

WINDOW = 254
CLS, SEP = 101, 102
DIGITS = 6

PARAGRAPH = (
    "A wok is judged by how evenly it heats, how fast it answers the flame and how long it lasts. "
    "Carbon steel is thin, light and cheap; it must be seasoned, and it rusts when it is put away wet. "
    "Cast iron holds more heat and is slow to change its mind. Stainless steel with a layer of aluminium "
    "spreads the heat well, but food sticks to it unless the pan is hot before the oil goes in. "
    "Non-stick coatings do not survive the temperatures at which stir-frying begins to be fun. "
)

TEXTS = {
    "plain": "Which wok heats evenly?",
    "empty": "",
    "frontmatter": "---\ntitle: Carbon Steel Woks\nuuid: 6f1c2b1e-0000-4000-8000-000000000000\n---\n\nThey heat.\n",
    "accents": "Ünïcöde: l'été à Zürich, žluťoučký kůň, Ærøskøbing, naïve façade",
    "japanese": "炭素鋼の中華鍋は均一に熱くなりますか？",
    "chinese": "碳钢炒锅受热均匀吗？",
    "korean": "탄소강 웍은 고르게 가열됩니까?",
    "thai": "กระทะเหล็กกล้าคาร์บอนร้อนสม่ำเสมอหรือไม่",
    "cyrillic": "Равномерно ли нагревается вок из углеродистой стали?",
    "arabic": "هل تسخن مقلاة الووك بالتساوي؟",
    "code": "SELECT name, \"count\" FROM t WHERE x >= 1.5e-3 AND path LIKE '%/a_b/%'; -- 100% \U0001f680 👩‍🍳\n\tend",
    "long": "# How to choose a wok\n\n" + "\n\n".join(f"{number}. {PARAGRAPH}" for number in range(1, 9)),
}


def read_safetensors(path: Path) -> dict[str, Array]:
    """Every float32 tensor of a safetensors file, by name.

    The format: the length of a JSON header, 8 bytes little-endian; the header; the tensors' bytes.
    """
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    tensors: dict[str, Array] = {}
    for name, what in header.items():
        if name == "__metadata__" or what["dtype"] != "F32":
            continue
        start, end = (8 + length + offset for offset in what["data_offsets"])
        tensors[name] = np.frombuffer(content[start:end], dtype="<f4").reshape(what["shape"])
    return tensors


def layer_norm(values: Array, tensors: dict[str, Array], name: str, epsilon: float) -> Array:
    centred = values - values.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon)
    result: Array = scaled * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]
    return result


def dense(values: Array, tensors: dict[str, Array], name: str) -> Array:
    result: Array = values @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]
    return result


def gelu(values: Array) -> Array:
    """x·Φ(x), exact: with the error function."""
    erf = np.frompyfunc(math.erf, 1, 1)(values / math.sqrt(2)).astype(np.float32)
    result: Array = values * np.float32(0.5) * (1 + erf)
    return result


def token_states(ids: list[int], tensors: dict[str, Array], config: dict[str, float]) -> Array:
    """The last layer's states, shape (tokens, 384)."""
    epsilon = config["layer_norm_eps"]
    heads = int(config["num_attention_heads"])
    states = (
        tensors["embeddings.word_embeddings.weight"][ids]
        + tensors["embeddings.position_embeddings.weight"][: len(ids)]
        + tensors["embeddings.token_type_embeddings.weight"][0]
    )
    states = layer_norm(states, tensors, "embeddings.LayerNorm", epsilon)
    for number in range(int(config["num_hidden_layers"])):
        layer = f"encoder.layer.{number}"
        parts = [
            dense(states, tensors, f"{layer}.attention.self.{part}").reshape(len(ids), heads, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        ]
        query, key, value = parts
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed = (weights @ value).transpose(1, 0, 2).reshape(len(ids), -1)
        attended = dense(mixed, tensors, f"{layer}.attention.output.dense")
        states = layer_norm(states + attended, tensors, f"{layer}.attention.output.LayerNorm", epsilon)
        inner = gelu(dense(states, tensors, f"{layer}.intermediate.dense"))
        states = layer_norm(
            states + dense(inner, tensors, f"{layer}.output.dense"), tensors, f"{layer}.output.LayerNorm", epsilon
        )
    return states


def unit(values: Array) -> Array:
    result: Array = values / np.linalg.norm(values)
    return result


def embed(ids: list[int], tensors: dict[str, Array], config: dict[str, float]) -> Array:
    """The token-weighted mean of the unit vectors of even windows of at most 254 tokens, of unit length."""
    windows = np.array_split(np.asarray(ids, dtype=np.int64), max(1, math.ceil(len(ids) / WINDOW)))
    vectors = [unit(token_states([CLS, *map(int, w), SEP], tensors, config).mean(axis=0)) for w in windows]
    if len(vectors) == 1:
        return vectors[0]
    return unit(np.average(vectors, axis=0, weights=[len(w) for w in windows]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="folder with model.safetensors, config.json and tokenizer.json")
    parser.add_argument("output", type=Path, help="the JSON file to write")
    given = parser.parse_args()
    tensors = read_safetensors(given.model / "model.safetensors")
    config = json.loads((given.model / "config.json").read_text(encoding="utf-8"))
    tokenizer = Tokenizer.from_file(str(given.model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    entries = []
    for name, text in TEXTS.items():
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        vector = [float(f"{value:.{DIGITS}g}") for value in embed(ids, tensors, config)]
        entries.append({"name": name, "text": text, "tokens": len(ids), "vector": vector})
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
    given.output.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
