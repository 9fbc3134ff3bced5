"""Lines from a pipe and from a file."""

import asyncio
import os
from pathlib import Path

from cli.console.line_reader import LineReader


async def lines_of(fd: int, written: bytes | None, writer: int | None) -> list[str]:
    keyboard = LineReader(fd)
    keyboard.start()
    if writer is not None:
        os.write(writer, written or b"")
        os.close(writer)
    found = []
    while (line := await asyncio.wait_for(keyboard.line(), 10)) is not None:
        found.append(line)
    keyboard.close()
    return found


def test_lines_of_a_pipe_the_last_one_without_its_end() -> None:
    reader, writer = os.pipe()
    try:
        found = asyncio.run(lines_of(reader, "one\ntwö\n\nlast".encode(), writer))
    finally:
        os.close(reader)
    assert found == ["one", "twö", "", "last"]


def test_lines_of_a_file_which_no_loop_can_watch(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"one\ntw\xff\n")
    with open(file, "rb") as opened:
        found = asyncio.run(lines_of(opened.fileno(), None, None))
    assert found == ["one", "tw\ufffd"]


def test_an_empty_input_is_just_over() -> None:
    with open(os.devnull, "rb") as nothing:
        assert asyncio.run(lines_of(nothing.fileno(), None, None)) == []
