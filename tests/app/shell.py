"""Command lines run as people run them: in processes of their own, on real streams."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Each command line on file descriptors of its own, one after the other: an import costs seconds.
_DRIVER = """
import json, os, sys
from fenchel.app.cli import run
jobs = json.load(sys.stdin)
for number, args in enumerate(jobs):
    sys.stdout.flush(); sys.stderr.flush()
    for descriptor, name in ((1, "out"), (2, "err")):
        handle = os.open(f"{sys.argv[1]}/{number}.{name}", os.O_CREAT | os.O_WRONLY)
        os.dup2(handle, descriptor)
        os.close(handle)
    code = run(args)
    sys.stdout.flush(); sys.stderr.flush()
    with open(f"{sys.argv[1]}/{number}.code", "w") as file:
        file.write(str(code))
"""


@dataclass(frozen=True)
class Done:
    """What a command line left behind."""

    args: tuple[str, ...]
    code: int
    out: str
    err: str

    def failed(self, code: int) -> str:
        """The one sentence of a command that ended in this code, with nothing else said."""
        assert self.code == code, self
        assert "Traceback" not in self.err, self
        lines = [line for line in self.err.splitlines() if line.startswith("fenchel: ")]
        assert len(lines) == 1 and self.err.splitlines()[-1] == lines[0], self
        return lines[0].removeprefix("fenchel: ")

    def fine(self) -> str:
        """What a command that ended well said."""
        assert self.code == 0 and "Traceback" not in self.err, self
        assert "fenchel: " not in self.err, self
        return self.out

    def document(self) -> dict:
        """The one JSON document on standard output, whatever the exit code."""
        assert "Traceback" not in self.err, self
        assert self.out, self
        found = json.loads(self.out, parse_constant=lambda name: 1 / 0)
        assert isinstance(found, dict), self
        return found


def surroundings(**more: str) -> dict[str, str]:
    """The environment of a process that finds this library and no colours by accident."""
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM", "FORCE_COLOR")}
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**kept, "PYTHONPATH": path, **more}


def alone(
    *args: str, cwd: Path, stdin: bytes | None = None, timeout: float = 240.0, **env: str
) -> Done:
    """One command line in a process of its own."""
    command = [sys.executable, "-m", "fenchel", *args]
    done = subprocess.run(
        command,
        cwd=cwd,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        timeout=timeout,
        env=surroundings(**env),
        check=False,
    )
    return Done(args, done.returncode, done.stdout.decode(), done.stderr.decode())


def together(
    jobs: Sequence[Sequence[str]], cwd: Path, room: Path, timeout: float = 400.0
) -> list[Done]:
    """Command lines one after the other in a process that they share."""
    room.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", _DRIVER, str(room)],
        cwd=cwd,
        input=json.dumps([list(job) for job in jobs]).encode(),
        capture_output=True,
        timeout=timeout,
        env=surroundings(),
        check=False,
    )
    found = []
    for number, args in enumerate(jobs):
        parts = {name: room / f"{number}.{name}" for name in ("code", "out", "err")}
        assert parts["code"].exists(), (
            args,
            done,
            parts["err"].read_text() if parts["err"].exists() else "",
        )
        texts = {name: part.read_text() for name, part in parts.items()}
        found.append(Done(tuple(args), int(texts["code"]), texts["out"], texts["err"]))
    return found
