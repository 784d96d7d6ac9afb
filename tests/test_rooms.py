"""The house rules, enforced by reading the source: rooms, sizes, names, homes of packages."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[1]

ROOMS = {
    "data": set(),
    "convex": {"data"},
    "geometry": {"data"},
    "solve": {"data", "convex"},
    "models": {"data", "convex", "geometry", "solve"},
    "score": {"data", "convex", "geometry"},
    "show": {"data", "convex", "score"},
    "app": {"data", "convex", "geometry", "solve", "models", "score", "show"},
}
OUTSIDE_ROOMS = {"__init__.py", "testing.py", "__main__.py"}

# Third-party package -> the files of fenchel/ that may import it; a folder ends with a slash.
# The three files outside the rooms may import anything but numba.
HOMES = {
    "torch": {"data/arrays.py", "data/blocks.py"},
    "triton": {"geometry/radial/device_loop.py"},
    "dask": {"data/cluster/dask_blocks.py", "data/cluster/dask_memory.py"},
    "distributed": {"data/cluster/dask_memory.py"},
    "polars": {"data/files/scan.py", "data/display/result_table.py", "app/"},
    "pandas": {"data/intake.py", "data/display/result_table.py"},
    "narwhals": {"data/intake.py"},
    "threadpoolctl": {"data/parallel.py"},
    "rich": {"data/display/progress_bar.py", "app/"},
    "click": {"app/"},
    "altair": {"show/"},
    "vl_convert": {"app/"},
}
NUMBA_FILE = "compiled.py"
LONGEST = 400
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc"}
MOST_MODULES = 12  # a folder reads like the contents page of a course
# Words of gestures, where the field has nouns; in names of modules, classes, functions, methods.
METAPHORS = {
    *("shelf", "stage", "told", "held", "beside", "pull", "push", "bent", "settle", "relax"),
    *("walk", "whole", "place", "loose", "many", "over"),
}
PHRASES = {"held_out", "random_walk"}  # terms of the field that have such a word
# The penalty and scikit-learn's estimator share their name.
SAME_NAME = {"ElasticNet"}
# Files that still choose a path by `assert isinstance`, or probe by `getattr(x, name, None)`, and
# how often: no file may join, and no number may grow.
ASSERTED = {
    "convex/certification/double_double_sums.py": 1,
    "convex/certification/float_sums.py": 1,
    "convex/certification/proof.py": 1,
    "convex/certification/straight_pieces.py": 1,
    "data/design/matrix.py": 1,
    "models/linear/erm_penalty.py": 1,
    "solve/decomposition/block_smo.py": 3,
    "solve/decomposition/dual_box.py": 6,
    "solve/gram/kernel_newton.py": 1,
    "solve/gram/kernel_span.py": 1,
    "solve/piecewise/augmented_lagrangian.py": 2,
    "solve/piecewise/multiclass_hinge.py": 3,
    "solve/piecewise/simplex_ascent.py": 1,
    "solve/piecewise/subproblem.py": 4,
}
PROBED = {
    "app/predictions.py": 1,
    "app/report/analysis/importance.py": 1,
    "app/report/analysis/selected_model.py": 1,
    "app/report/structure/embeddings.py": 1,
    "app/table/files/frames.py": 1,
    "score/curves/streaming.py": 1,
    "score/selection/parameter_search.py": 1,
    "score/validation/scoring.py": 1,
    "score/validation/study.py": 1,
}
SOURCES = {".py", ".pyi", ".js", ".css", ".html"}


def imports(path: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, absolute dotted name) of every import, at any depth, relative ones resolved.

    `from a import b` gives a.b, because b may be a module; `import_module("a")` and
    `__import__("a")` count too.
    """
    package = PurePosixPath(path).parent.parts
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for name in names:
                    yield node.lineno, name.name
            case ast.ImportFrom(module=module, names=names, level=level):
                base = package[: len(package) - level + 1] if level else ()
                stem = ".".join([*base, *([module] if module else [])])
                for name in names:
                    yield node.lineno, f"{stem}.{name.name}"
            case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]):
                if last_name(func) in {"import_module", "__import__"}:
                    yield node.lineno, name


def last_name(node: ast.expr) -> str:
    """The identifier a call or decorator ends in: f, a.f and a.f(...) all give f."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=func):
            return last_name(func)
    return ""


def import_faults(path: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    _, *inside = PurePosixPath(path).parts
    file = "/".join(inside)
    room = inside[0] if len(inside) > 1 else None
    for line, name in imports(path, tree):
        top, *rest = name.split(".")
        if top == "numba" and inside[-1] != NUMBA_FILE:
            yield line, f"numba is imported only in files named {NUMBA_FILE}"
        if room is None:
            continue
        if top == "fenchel" and name != "fenchel.__version__":  # a string, no room's business
            target = rest[0] if rest else ""
            if target not in ROOMS:
                yield line, f"room {room} imports {name}: import from the room that defines it"
            elif target != room and target not in ROOMS.get(room, set()):
                allowed = ", ".join(sorted(ROOMS.get(room, set()))) or "no other room"
                yield line, f"room {room} imports room {target}; it may import {allowed}"
        homes = HOMES.get(top)
        if homes is not None and not any(
            file.startswith(home) if home.endswith("/") else file == home for home in homes
        ):
            yield line, f"{top} is imported only in {', '.join(sorted(homes))}"


def habit_faults(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="hasattr")):
                yield node.lineno, "no hasattr probing: say it in the type"
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                for decorator in node.decorator_list:
                    if "regist" in last_name(decorator).lower():
                        yield decorator.lineno, "no decorator that registers: export the name"


def words(name: str) -> set[str]:
    """The words of a name in snake case or camel case."""
    for phrase in PHRASES:
        name = name.replace(phrase, "")
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}


def name_faults(path: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    def judged(line: int, name: str) -> Iterator[tuple[int, str]]:
        if not name.startswith("_"):
            for word in sorted(words(name) & METAPHORS):
                yield line, f"{name}: '{word}' is a metaphor, take the name that the field has"

    yield from judged(1, PurePosixPath(path).stem)
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield from judged(node.lineno, node.name)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    yield from judged(part.lineno, part.name)


def probe_faults(path: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    file = path.removeprefix("fenchel/")
    asserted: list[int] = []
    probed: list[int] = []
    for node in ast.walk(tree):
        match node:
            case ast.Assert(test=ast.Call(func=ast.Name(id="isinstance"))):
                asserted.append(node.lineno)
            case ast.Call(func=ast.Name(id="getattr"), args=[_, _, ast.Constant(value=None)]):
                probed.append(node.lineno)
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("fenchel."):
                for name in names:
                    if name.name.startswith("_") and not name.name.startswith("__"):
                        yield node.lineno, f"{name.name} is {module}'s own: give it a public name"
    for line in asserted[ASSERTED.get(file, 0) :]:
        yield line, "no assert isinstance to choose a path: say it in the type"
    for line in probed[PROBED.get(file, 0) :]:
        yield line, "no getattr(x, name, None) to probe: say it in the type"


def place_faults(path: str) -> Iterator[tuple[int, str]]:
    top, *inside = PurePosixPath(path).parts
    for part in inside:
        if part.split(".")[0].strip("_") in VAGUE:
            yield 1, f"{part} says nothing: name it after what it computes"
    if top == "fenchel" and len(inside) > 1 and inside[0] not in ROOMS:
        yield 1, f"{inside[0]} is not a room: {', '.join(ROOMS)}"
    if top == "fenchel" and len(inside) == 1 and inside[0] not in OUTSIDE_ROOMS | {"py.typed"}:
        yield 1, f"only {', '.join(sorted(OUTSIDE_ROOMS))} stand outside the rooms"


def faults(path: str, text: str) -> list[str]:
    """Every broken rule of one file, as 'path:line: rule'; path is relative to the repository."""
    found = list(place_faults(path))
    length = len(text.splitlines())
    if length > LONGEST:
        found.append((LONGEST + 1, f"{length} lines, more than {LONGEST}: split it"))
    if path.startswith("fenchel/") and path.endswith((".py", ".pyi")):
        tree = ast.parse(text, filename=path)
        found += [*import_faults(path, tree), *habit_faults(tree)]
        found += [*name_faults(path, tree), *probe_faults(path, tree)]
    return [f"{path}:{line}: {rule}" for line, rule in sorted(set(found))]


def sources() -> list[str]:
    return sorted(
        file.relative_to(ROOT).as_posix()
        for folder in ("fenchel", "tests", "benchmarks")
        for file in (ROOT / folder).rglob("*")
        if file.suffix in SOURCES and "__pycache__" not in file.parts
    )


def test_house_rules():
    files = sources()
    assert "fenchel/__init__.py" in files and "tests/test_rooms.py" in files
    found = [fault for path in files for fault in faults(path, (ROOT / path).read_text("utf-8"))]
    assert not found, "\n" + "\n".join(found)


def modules() -> list[str]:
    return [path for path in sources() if path.startswith("fenchel/") and path.endswith(".py")]


def test_a_folder_holds_at_most_twelve_modules():
    held = Counter(
        str(PurePosixPath(path).parent) for path in modules() if not path.endswith("__init__.py")
    )
    full = {folder: count for folder, count in held.items() if count > MOST_MODULES}
    assert not full, f"group the modules by family: {full}"


def test_a_public_class_name_occurs_once():
    homes: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        for node in ast.parse((ROOT / path).read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(path)
    twice = {name: at for name, at in homes.items() if len(at) > 1 and name not in SAME_NAME}
    assert not twice, f"one class, one name: {twice}"


def test_exceptions_are_needed():
    """A file that got rid of a probe leaves the list, so that it cannot come back."""
    for table, what in ((ASSERTED, "assert isinstance("), (PROBED, ", None)")):
        for file, count in table.items():
            text = (ROOT / "fenchel" / file).read_text("utf-8")
            assert text.count(what) >= count, f"{file}: lower the number to {text.count(what)}"


def test_rooms_have_no_cycle():
    """Every room imports only rooms listed before it, so the table itself goes one way."""
    before: set[str] = set()
    for room, allowed in ROOMS.items():
        assert allowed <= before, room
        before.add(room)


@pytest.mark.parametrize(
    ("path", "source", "rule"),
    [
        ("fenchel/data/a.py", "import fenchel.convex", "data imports room convex"),
        (
            "fenchel/data/a.py",
            "from fenchel.convex.loss.base import Loss",
            "data imports room convex",
        ),
        ("fenchel/convex/a.py", "from ..solve import minimise", "convex imports room solve"),
        ("fenchel/convex/a.py", "from .. import solve", "convex imports room solve"),
        ("fenchel/convex/a.py", "from fenchel import geometry", "convex imports room geometry"),
        ("fenchel/app/lab/a.py", "from ... import Ridge", "import from the room that defines it"),
        ("fenchel/convex/a.py", "def f():\n    import fenchel.models.linear", "room models"),
        (
            "fenchel/score/a.py",
            "import_module('fenchel.solve.smooth.newton')",
            "score imports room solve",
        ),
        ("fenchel/models/a.py", "import fenchel", "import from the room that defines it"),
        ("fenchel/models/a.py", "from fenchel import Ridge", "import from the room that defines"),
        ("fenchel/models/a.py", "from fenchel.testing import check_loss", "room that defines it"),
        ("fenchel/solve/a.py", "import numba", "compiled.py"),
        ("fenchel/testing.py", "from numba import njit", "compiled.py"),
        ("fenchel/solve/a.py", "def f():\n    from torch import nn", "torch is imported only in"),
        ("fenchel/solve/a.py", "import importlib\nimportlib.import_module('torch')", "torch is"),
        ("fenchel/data/a.py", "import dask.array as da", "dask is imported only in"),
        ("fenchel/models/a.py", "import rich.progress", "rich is imported only in"),
        ("fenchel/models/a.py", "if hasattr(x, 'shape'): pass", "hasattr"),
        ("fenchel/models/a.py", "@register\nclass A: pass", "registers"),
        ("fenchel/models/a.py", "@losses.register('a')\ndef f(): pass", "registers"),
        ("fenchel/models/a.py", "def f(x):\n    assert isinstance(x, int)", "assert isinstance"),
        ("fenchel/models/a.py", "getattr(x, 'shape', None)", "getattr(x, name, None)"),
        ("fenchel/models/a.py", "from fenchel.data.blocks import _own", "public name"),
        ("fenchel/models/a.py", "class Shelf:\n    pass", "metaphor"),
        ("fenchel/models/a.py", "def pull_rows(): pass", "metaphor"),
        ("fenchel/models/a.py", "class A:\n    def held(self): pass", "metaphor"),
        ("fenchel/models/loose_rows.py", "", "metaphor"),
        ("fenchel/models/utils.py", "", "says nothing"),
        ("tests/common/test_a.py", "", "says nothing"),
        ("fenchel/_helpers/a.py", "", "says nothing"),
        ("fenchel/stats/a.py", "", "not a room"),
        ("fenchel/extra.py", "", "outside the rooms"),
        ("benchmarks/a.py", "x = 1\n" * 401, "401 lines"),
    ],
)
def test_a_broken_rule_is_caught(path, source, rule):
    found = faults(path, source)
    assert found and any(rule in fault for fault in found), found
    assert all(fault.startswith(f"{path}:") for fault in found)


def test_the_line_is_named():
    assert faults("fenchel/data/a.py", "x = 1\n\ndef f():\n    import fenchel.solve\n") == [
        "fenchel/data/a.py:4: room data imports room solve; it may import no other room"
    ]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("fenchel/models/a.py", "from ..convex.loss import Loss\nfrom .base import Linear"),
        ("fenchel/data/a.py", "import numpy as np\nfrom fenchel.data.blocks import Block"),
        (
            "fenchel/solve/sparse/compiled.py",
            "from numba import njit\n@njit(cache=True)\ndef f(): pass",
        ),
        ("fenchel/app/commands/fit.py", "import click\nfrom ...models import Ridge"),
        ("fenchel/app/a.py", "from fenchel import __version__"),
        ("fenchel/data/cluster/dask_memory.py", "import dask.array\nimport distributed"),
        ("fenchel/__init__.py", "from fenchel.app import cli\nimport torch"),
        ("fenchel/models/a.py", "'hasattr(x, 1)'  # hasattr() in a string is no probe"),
        ("fenchel/models/random_walk.py", "def held_out(): pass\ndef wholesale(): pass"),
        ("fenchel/models/a.py", "getattr(x, 'shape', 0)\ndef _held(): pass"),
        ("tests/models/test_a.py", "import torch, numba, fenchel\nhasattr(1, 'real')"),
        ("benchmarks/a.py", "x = 1\n" * 400),
    ],
)
def test_a_kept_rule_is_left_alone(path, source):
    assert faults(path, source) == []
