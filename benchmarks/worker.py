"""One contender in a process of its own: its threads, its caches and its crashes stay there."""

from __future__ import annotations

import contextlib
import gc
import logging
import multiprocessing
import os
import signal
import time
import warnings
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from . import data
from .protocol import Contender, Fit, Timed, Workload


class Failed(Exception):
    """Why a contender gave no answer, in a few words."""


def find(suite: str, scale: str, workload: str, contender: str) -> tuple[Workload, Contender]:
    """By name, because a workload is made of functions, which do not travel between processes."""
    module = import_module(f"{__package__}.{suite}")
    chosen = next(w for w in module.workloads(scale) if w.name == workload)
    return chosen, next(c for c in chosen.contenders if c.name == contender)


class Remarks(logging.Handler):
    """Keeps what scikit-learn-intelex says when it hands the work back to scikit-learn."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.heard: list[str] = []

    @classmethod
    def instead_of_printing(cls) -> Remarks:
        """Called after the import, which installs a handler that prints."""
        remarks = cls()
        logger = logging.getLogger("sklearnex")
        logger.handlers, logger.propagate = [remarks], False
        logger.setLevel(logging.INFO)
        return remarks

    def emit(self, record: logging.LogRecord) -> None:
        if "fallback" in record.getMessage():
            self.heard.append("fell back to scikit-learn")


def serve(pipe: Connection, names: tuple[str, str, str, str], folder: Path) -> None:
    """Answers each tolerance with a Fit, or with a sentence if there is none; None ends it."""
    os.setsid()  # a group of its own, so that the jobs it starts can be ended with it
    os.environ["PYTHONWARNINGS"] = "ignore"  # for those jobs: they would print theirs
    try:
        workload, contender = find(*names)
        table = data.fetch(folder)
        fit = contender.prepare(table)
        remarks = Remarks.instead_of_printing()
        pipe.send("")
    except ModuleNotFoundError as error:
        pipe.send(f"not installed: {error.name}")
        return
    except Exception as error:
        pipe.send(f"not available: {one_line(error)}")
        return
    with contextlib.suppress(EOFError, BrokenPipeError):  # the runner was stopped
        while (tol := pipe.recv()) is not None:
            remarks.heard.clear()
            try:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    gc.collect()
                    start = time.perf_counter()
                    model = fit(tol)
                    seconds = time.perf_counter() - start
                if isinstance(model, Timed):
                    seconds = model.seconds
                verdict = workload.judge(table, contender.read(model))
                said = [*remarks.heard, *(one_line(w.message) for w in caught)]
                pipe.send(
                    Fit(
                        tol,
                        seconds,
                        *verdict,
                        claimed=claim(model) if contender.ours else None,
                        remarks=tuple(dict.fromkeys(said)),
                    )
                )
            except Exception as error:
                pipe.send(one_line(error))


def claim(model: Any) -> float | None:
    """The largest relative gap that the model itself reports, one fit or a path of them."""
    certificate = getattr(model, "certificate_", None)
    certificates = getattr(model, "certificates", () if certificate is None else (certificate,))
    return max((float(c.relative_gap) for c in certificates), default=None)


def one_line(error: Warning | Exception | str) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:160]


class Worker:
    """The parent's end: ask for a fit, wait no longer than the limit, kill what does not answer."""

    def __init__(
        self,
        names: tuple[str, str, str, str],
        folder: Path,
        limit: float,
        bound: float | None = None,
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self.limit, self.bound = limit, bound
        self.pipe, there = context.Pipe()
        # Not a daemon: those may not start the jobs that n_jobs=2 asks for.
        self.process = context.Process(target=serve, args=(there, names, folder))
        self.process.start()
        there.close()
        try:
            if refusal := self.answer(wait=120):
                raise Failed(refusal)
        except Failed:
            self.close()
            raise

    def answer(self, wait: float) -> Any:
        try:
            if not self.pipe.poll(wait):
                self.kill()
                raise Failed(f"time limit of {wait:g} s")
            return self.pipe.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            raise Failed(f"the process died, exit code {self.process.exitcode}") from None

    def fit(self, tol: float) -> Fit:
        try:
            self.pipe.send(tol)
            reply = self.answer(self.limit)
        except BrokenPipeError:
            raise Failed("the process died") from None
        if isinstance(reply, str):
            raise Failed(reply)
        return reply.given(self.bound)

    def close(self) -> None:
        """A word first, so that an idle process ends its own jobs; then force."""
        if not self.pipe.closed:
            with contextlib.suppress(OSError):
                self.pipe.send(None)
            self.pipe.close()
            self.process.join(10)
            self.kill()
            self.process.join()

    def kill(self) -> None:
        """The process, and gently what it started, so that joblib's tracker removes its files."""
        self.process.kill()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
