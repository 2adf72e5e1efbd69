"""Whole files in the wrong packing or encoding, and stays given twice."""

from __future__ import annotations

import gzip
import shutil
import zlib
from pathlib import Path
from random import Random

#: Longer than any element of a valid input, shorter than the limits of notes and resources.
HUGE = "long " * 60_000
ENCODINGS = ("latin-1", "cp1252", "cp037", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "shift_jis")


def damage(file: Path, chance: Random) -> None:
    """Change a file as a whole, in one of these ways."""
    chance.choice([_encode, _halve, _pack_wrongly, _repeat])(file, chance)


def unpack(file: Path) -> bytes:
    """Return the content; that of a damaged gzip file as it is."""
    content = file.read_bytes()
    try:
        return gzip.decompress(content) if file.suffix.lower() == ".gz" else content
    except (OSError, EOFError, zlib.error):
        return content


def write(file: Path, content: bytes) -> None:
    """Write the content, packed if the name says so."""
    packed = file.suffix.lower() == ".gz"
    file.write_bytes(gzip.compress(content, mtime=0) if packed else content)


def _encode(file: Path, chance: Random) -> None:
    """Write the text in another encoding; an extra letter makes it differ."""
    text = unpack(file).decode("utf-8", "replace") + chance.choice(["", "é", "\u4e2d"])
    write(file, text.encode(chance.choice(ENCODINGS), "replace"))


def _halve(file: Path, chance: Random) -> None:
    """Keep the first or the second half."""
    content = file.read_bytes()
    half = len(content) // 2
    file.write_bytes(content[:half] if chance.random() < 0.5 else content[half:])


def _pack_wrongly(file: Path, chance: Random) -> None:
    """Give a file a packing that its name does not say, or a broken one."""
    text = unpack(file)
    packed = gzip.compress(text, mtime=0)
    at = chance.randrange(len(packed))
    ways = {
        "plain": text,
        "packed": packed,
        "twice": gzip.compress(packed, mtime=0),
        "two members": packed + gzip.compress(text, mtime=0),
        "tail": packed + b"x",
        "zeros": packed + b"\x00" * 512,
        "flipped": packed[:at] + bytes([packed[at] ^ 1]) + packed[at + 1 :],
        "zlib": zlib.compress(text),
        "no checksum": packed[:-8],
    }
    made = ways[chance.choice(list(ways))]
    if chance.random() < 0.5:
        file.write_bytes(made)
    else:
        (file.parent / f"{file.name.removesuffix('.gz')}.gz").write_bytes(made)
        if file.suffix != ".gz" and chance.random() < 0.8:
            file.unlink()


def _repeat(file: Path, chance: Random) -> None:
    """Give stays twice: the file or its folder again, or all lines again."""
    folder = file.parent
    if chance.random() < 0.4 and (folder / "encounter.json").is_file():
        shutil.copytree(folder, folder.with_name(f"{folder.name} again"), dirs_exist_ok=True)
    elif chance.random() < 0.5:
        shutil.copy(file, folder / f"again {file.name}")
    else:
        text = unpack(file)
        write(file, text + text.partition(b"\n")[2])
