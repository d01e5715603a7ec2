"""INNODB STATUS texts of the captures, kinds of damage, and a second reading of a text to compare with."""

import functools
import gzip
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from operator import attrgetter
from pathlib import Path

from exporter.status_text import ChangeBufferText, InnodbStatus, PoolText

CAPTURES = Path(__file__).parents[1] / "captures"
FILE_IO = "\n--------\nFILE I/O\n--------\n"
END = "\n----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================\n"
LABELS = {
    "size_pages": "Buffer pool size   ",
    "free_pages": "Free buffers       ",
    "database_pages": "Database pages     ",
    "old_pages": "Old database pages ",
    "modified_pages": "Modified db pages  ",
}
LIES = [
    "\n----------------------\nBUFFER POOL AND MEMORY\n----------------------\nBuffer pool size   1\nFree buffers 2\n",
    "\n-------------\nINSERT BUFFER\n-------------\nsize 1, free list len 2, seg size 3, 4 merges\n",
    "\n-----\nINSERT BUFFER AND ADAPTIVE HASH INDEX\n-----\nIbuf: size 1, free list len 2, seg size 3, 4 merges\n",
    "\nmerged operations:\n insert 5, delete mark 6, delete 7\n",
    "\n---\nLOG\n---\nLog sequence number 7\nLast checkpoint at 9\n",
    "\n----------------------\nINDIVIDUAL BUFFER POOL INFO\n----------------------\n---BUFFER POOL 0\nFree buffers 1\n",
    "\n---BUFFER POOL 18446744073709551615\nOld database pages 18446744073709551615\n",
    END,
    FILE_IO,
    "\n--------\n",
    "\n---------------------------------------------------------------------------\n",
]
NUMBERS = ["0", "00", "-1", "1.5", "1e9", "0x1f", "+7", "1_000", "٣", "²", "१२", "4294967295", "4294967296"]
NUMBERS += ["4355096838145", "9223372036854775807", "9223372036854775808", "18446744073709551615", "1" * 21, "9" * 5000]
NOISE = ["\0", "\ufffd", "\r", "\n", "\r\n", "\t", " ", "  ", ",", "-", "=", "\x85", "\u2028", "\ud800", "😀", "'"]


_OF_A_POOL = attrgetter(*(field.name for field in fields(PoolText)))
_OF_A_CHANGE_BUFFER = attrgetter(*(field.name for field in fields(ChangeBufferText)))

Damage = Callable[[random.Random, str], str]


@functools.cache
def captured() -> dict[str, list[str]]:
    """The texts of the captures, by server."""
    texts: dict[str, list[str]] = {}
    for path in sorted(CAPTURES.glob("*/*/recording.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in map(json.loads, file):
                if line.get("answer") == "innodb_status" and "results" in line:
                    texts.setdefault(path.parts[-3], []).append(line["results"][0]["rows"][0][-1])
    return texts


def with_instances(text: str) -> str:
    """The text with two buffer pool instances: no capture has several."""
    title = "-" * 22 + "\n{}\n" + "-" * 22 + "\n"
    head, total, rest = text.partition(title.format("BUFFER POOL AND MEMORY"))
    body, line, tail = rest.partition("-" * 14 + "\nROW OPERATIONS\n")
    instances = "".join(f"---BUFFER POOL {n}\n{body}" for n in range(2))
    return head + total + body + title.format("INDIVIDUAL BUFFER POOL INFO") + instances + line + tail


def _place(chance: random.Random, text: str) -> int:
    """A position, mostly in the parsed sections."""
    start = 0 if chance.random() < 0.1 else max(0, text.rfind(FILE_IO))
    return start + int(chance.random() * (len(text) - start))


def _range(chance: random.Random, text: str, longest: int) -> tuple[int, int]:
    start = _place(chance, text)
    return start, start + int(chance.random() * longest)


def _a_line(chance: random.Random, text: str) -> tuple[int, int]:
    place = _place(chance, text)
    return text.rfind("\n", 0, place) + 1, text.find("\n", place) + 1 or len(text)


def _cut(chance: random.Random, text: str) -> str:
    start, end = _range(chance, text, 200)
    return text[:start] + text[end:]


def _truncate(chance: random.Random, text: str) -> str:
    place = _place(chance, text)
    return text[:place] if chance.random() < 0.5 else text[:place] + END


def _duplicate(chance: random.Random, text: str) -> str:
    start, end = _range(chance, text, 900)
    place = _place(chance, text)
    return text[:place] + text[start:end] + text[place:]


def _splice(chance: random.Random, text: str) -> str:
    other = chance.choice(chance.choice(list(captured().values())))
    start, end = _range(chance, other, 900)
    place, skip = _range(chance, text, 300)
    return text[:place] + other[start:end] + text[skip:]


def _renumber(chance: random.Random, text: str) -> str:
    start = end = next((at for at in range(_place(chance, text), len(text)) if text[at].isdigit()), len(text))
    while end < len(text) and text[end].isdigit():
        end += 1
    new = chance.choice(NUMBERS) if chance.random() < 0.5 else str(int(10 ** (chance.random() * 21)))
    return text[:start] + new + text[start if chance.random() < 0.1 else end :]


def _swap_lines(chance: random.Random, text: str) -> str:
    (a, b), (c, d) = sorted((_a_line(chance, text), _a_line(chance, text)))
    return text if b > c else text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


def _drop_line(chance: random.Random, text: str) -> str:
    start, end = _a_line(chance, text)
    return text[:start] + text[end:]


def _lie(chance: random.Random, text: str) -> str:
    place = _place(chance, text)
    return text[:place] + chance.choice(LIES) + text[place:]


def _lie_in_a_statement(chance: random.Random, text: str) -> str:
    place = int(chance.random() * (text.find(FILE_IO) + 1))
    return text[:place] + "".join(chance.choices(LIES, k=3)) + text[place:]


def _noise(chance: random.Random, text: str) -> str:
    start, end = _range(chance, text, 2)
    return text[:start] + chance.choice(NOISE) + text[end:]


def _other_line_ends(chance: random.Random, text: str) -> str:
    start = _place(chance, text)
    return text[:start] + text[start:].replace("\n", chance.choice(["\r\n", "\r", "\n\n", " \n"]))


DAMAGES: Sequence[Damage] = (
    _cut,
    _truncate,
    _duplicate,
    _splice,
    _renumber,
    _renumber,
    _swap_lines,
    _drop_line,
    _lie,
    _lie_in_a_statement,
    _noise,
    _other_line_ends,
)


def damaged(seed: int, how_many: int) -> Iterator[str]:
    """Texts, each with one to three damages; equal for equal seeds."""
    chance = random.Random(seed)  # noqa: S311 - any will do
    kinds = [*captured().values(), [with_instances(captured()["mysql-9.7"][0])]]
    for _ in range(how_many):
        text = chance.choice(chance.choice(kinds))
        for _ in range(1 + int(chance.random() ** 2 * 3)):
            text = chance.choice(DAMAGES)(chance, text)
        yield text


def numbers(status: InnodbStatus) -> list[int]:
    """Every number of a status."""
    counts: list[int | None] = [status.checkpoint_age_bytes]
    for pool in (status.total, *status.pools):
        if pool is not None:
            counts += _OF_A_POOL(pool)
    if status.change_buffer is not None:
        counts += _OF_A_CHANGE_BUFFER(status.change_buffer)
    return [number for number in counts if number is not None]


def unfounded(text: str, status: InnodbStatus) -> list[str]:
    """Numbers of a status that no line of the text holds, by another way of reading than the parser's."""
    start = text.rfind(FILE_IO)
    tail = text[start:] if start >= 0 else ""
    faults = [fault for pool in (status.total, *status.pools) if pool is not None for fault in _pool(tail, pool)]
    if status.change_buffer is not None:
        faults += _change_buffer(tail, status.change_buffer)
    if (age := status.checkpoint_age_bytes) is not None:
        written, checkpoints = _of(tail, "Log sequence number "), _of(tail, "Last checkpoint at ")
        if age < 0 or not any(w - c == age for w in written for c in checkpoints):
            faults.append(f"checkpoint_age_bytes {age}")
    return faults


def _pool(tail: str, pool: PoolText) -> Iterator[str]:
    for name, label in LABELS.items():
        value = getattr(pool, name)
        # Most lines are as servers print them; a search for all forms takes longer.
        if value is not None and f"\n{label}{value}\n" not in tail and value not in _of(tail, label.rstrip() + " "):
            yield f"{name} {value}"
    young, not_young = pool.made_young, pool.not_made_young
    if f"\nPages made young {young}, not young {not_young}\n" not in tail:
        yield from _line(tail, (young, not_young), ("Pages made young ",), ", not young ")


def _change_buffer(tail: str, buffered: ChangeBufferText) -> Iterator[str]:
    size, free, segment, merges = buffered.size_pages, buffered.free_list_pages, buffered.segment_pages, buffered.merges
    if f"size {size}, free list len {free}, seg size {segment}, {merges} merges\n" not in tail:
        lines = [
            _digits(rest.removesuffix(" merges"), ", free list len ", ", seg size ", ", ")
            for label in ("Ibuf: size ", "size ")
            for rest in _after(tail, label)
        ]
        said = (size, free, segment, merges)
        if not any(len(line) == 4 and (*(n & 0xFFFFFFFF for n in line[:3]), line[3]) == said for line in lines):
            yield f"sizes {said}"
    for inserts, marks, deletes in (
        (buffered.merged_inserts, buffered.merged_delete_marks, buffered.merged_deletes),
        (buffered.discarded_inserts, buffered.discarded_delete_marks, buffered.discarded_deletes),
    ):
        if f"insert {inserts}, delete mark {marks}, delete {deletes}\n" not in tail:
            labels = (" insert ", "insert ")
            yield from _line(tail, (inserts, marks, deletes), labels, ", delete mark ", ", delete ")


def _line(tail: str, said: Sequence[int | None], labels: Sequence[str], *between: str) -> Iterator[str]:
    """A number without a line that holds it; None matches any line."""
    lines = [_digits(rest, *between) for label in labels for rest in _after(tail, label)]
    if any(said) and not any(line and all(map(_agree, said, line)) for line in lines):
        yield f"{labels[0]}{said}"


def _agree(said: int | None, there: int) -> bool:
    return said in (None, there)


def _of(tail: str, label: str) -> list[int]:
    return [number for rest in _after(tail, label) for number in _digits(rest)]


def _after(tail: str, label: str) -> Iterator[str]:
    """The rest of each whole line after the label."""
    at = tail.find("\n" + label)
    while at >= 0:
        begin = at + 1 + len(label)
        end = tail.find("\n", begin)
        if end < 0:
            return
        yield tail[begin:end]
        at = tail.find("\n" + label, end)


def _digits(rest: str, *between: str) -> list[int]:
    """The numbers between the texts of ``between``; none if there is anything else."""
    parts = []
    for separator in between:
        one, match, rest = rest.partition(separator)
        if not match:
            return []
        parts.append(one)
    parts.append(rest)
    stripped = [part.strip(" ") for part in parts]
    if not all(part.isascii() and part.isdigit() and len(part) <= 20 for part in stripped):
        return []
    return list(map(int, stripped))
