"""One contender in a process of its own: its threads, its caches and its crashes stay there."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import time
import warnings
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from . import data
from .protocol import Contender, Fit, Workload


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

    def emit(self, record: logging.LogRecord) -> None:
        if "fallback" in record.getMessage():
            self.heard.append("fell back to scikit-learn")


def serve(pipe: Connection, names: tuple[str, str, str, str], folder: Path) -> None:
    """Answers each tolerance with a Fit, or with a sentence if there is none; None ends it."""
    remarks = Remarks()
    logger = logging.getLogger("sklearnex")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(remarks)
    try:
        workload, contender = find(*names)
        table = data.fetch(folder)
        fit = contender.prepare(table)
        pipe.send("")
    except ModuleNotFoundError as error:
        pipe.send(f"not installed: {error.name}")
        return
    except Exception as error:
        pipe.send(f"not available: {one_line(error)}")
        return
    while (tol := pipe.recv()) is not None:
        remarks.heard.clear()
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                gc.collect()
                start = time.perf_counter()
                model = fit(tol)
                seconds = time.perf_counter() - start
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
    certificate = getattr(model, "certificate_", None)
    return None if certificate is None else float(certificate.relative_gap)


def one_line(error: Warning | Exception | str) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:160]


class Worker:
    """The parent's end: ask for a fit, wait no longer than the limit, kill what does not answer."""

    def __init__(self, names: tuple[str, str, str, str], folder: Path, limit: float) -> None:
        context = multiprocessing.get_context("spawn")
        self.limit = limit
        self.pipe, there = context.Pipe()
        self.process = context.Process(target=serve, args=(there, names, folder), daemon=True)
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
        return reply

    def close(self) -> None:
        """Kills: nothing in there is worth a goodbye, and a busy fit would not hear one."""
        self.process.kill()
        self.process.join()
        self.pipe.close()
