"""Changed files: no byte can be altered, added or taken away, and the only error is ours."""

from __future__ import annotations

import hashlib
import io
import os
import re
import zipfile
import zlib

import numpy as np
import pytest

import fenchel
from fenchel import ModelFileError, load, save
from fenchel.app.modelfile import container, inspect_file, open_model


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return fenchel.LogisticRegression().fit(X, np.array(["no", "yes"])[(X[:, 0] > 0.1).astype(int)])


@pytest.fixture(scope="module")
def data(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "m.fen"
    save(model, path, extra={"data": "fingerprint"})
    return path.read_bytes()


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """Asserts that bytes are refused, that nothing else is raised, and nothing is written."""
    folder = tmp_path_factory.mktemp("fuzz")
    path = folder / "m.fen"

    def check(changed: bytes, reason: str = "", readers=(load,)) -> None:
        path.write_bytes(changed)
        for read in readers:
            try:
                read(path)
            except ModelFileError as error:
                told = str(error)
            else:
                pytest.fail(f"{read.__name__} took a changed file")
            assert str(path) in told and "\n" not in told and re.search(reason, told), told

    yield check
    assert os.listdir(folder) == ["m.fen"]


READERS = (load, open_model, inspect_file)


def test_every_bit_of_every_byte(data, refused):
    """All single-bit changes of the whole file."""
    changed = bytearray(data)
    for place in range(len(data)):
        for bit in range(8):
            changed[place] ^= 1 << bit
            refused(bytes(changed))
            changed[place] ^= 1 << bit


def test_random_bytes_at_random_places(data, refused):
    rng = np.random.default_rng(1)
    for _ in range(2000):
        changed = bytearray(data)
        for _ in range(int(rng.integers(1, 5))):
            changed[int(rng.integers(len(data)))] = int(rng.integers(256))
        if bytes(changed) != data:
            refused(bytes(changed))


def test_every_truncation(data, refused):
    for length in range(len(data)):
        refused(data[:length])
        refused(data[length + 1 :] if length % 3 else data[: length // 2] + data[length:][1:])


def test_insertions_deletions_and_repetitions(data, refused):
    rng = np.random.default_rng(2)
    for _ in range(1000):
        a, b = sorted(rng.integers(0, len(data) + 1, size=2).tolist())
        b = min(b, a + 40)
        refused(data[:a] + rng.bytes(int(rng.integers(1, 9))) + data[a:])
        if a < b:
            refused(data[:a] + data[b:])
            refused(data[:b] + data[a:b] + data[b:])


def test_something_before_or_behind(data, refused):
    for more in (b"\0", b"x" * 100, data):
        refused(more + data, readers=READERS)
        refused(data + more, readers=READERS)


def entries(data):
    """The names and bytes of a zip."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        return [(info.filename, packed.read(info)) for info in packed.infolist()], packed.comment


def packed(pairs, comment, method=zipfile.ZIP_STORED, attributes=0o100644 << 16, extra=b""):
    """A zip as another program packs it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content in pairs:
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type, info.extra = attributes, method, extra
            file.writestr(info, content)
        file.comment = comment
    return out.getvalue()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_other_zips_with_the_same_content(data, refused):
    pairs, comment = entries(data)
    first, *rest = pairs
    swapped = [first, rest[1], rest[0], *rest[2:]]
    exchanged = [first, (rest[0][0], rest[1][1]), (rest[1][0], rest[0][1]), *rest[2:]]
    climbing = [first, ("../" + rest[0][0], rest[0][1]), *rest[1:]]
    rooted = [first, ("/etc/passwd", rest[0][1]), *rest[1:]]
    for changed in (
        packed(pairs, comment),
        packed(pairs, comment, method=zipfile.ZIP_DEFLATED),
        packed(pairs, comment, attributes=0o120777 << 16),  # links
        packed(pairs, comment, extra=b"\xfe\xca\0\0"),
        packed(pairs, b""),
        packed(swapped, comment),
        packed(exchanged, comment),
        packed(climbing, comment),
        packed(rooted, comment),
        packed([*pairs, rest[0]], comment),
        packed([*pairs, first], comment),
        packed([*pairs, ("more.txt", b"")], comment),
        packed([*rest, first], comment),
        packed(pairs[:-1], comment),
        packed([], comment),
    ):
        refused(changed, readers=READERS)


def test_a_compressed_bomb_is_not_inflated(data, refused):
    """A thousand megabytes of zeros that deflate to one: refused by its first header."""
    press = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = b"".join(press.compress(bytes(2**20)) for _ in range(200)) + press.flush()
    head = container.StoredFile(container.MANIFEST, len(bomb), 0).header()
    deflated = head[:8] + b"\x08\0" + head[10:]
    refused(deflated + bomb + entries(data)[1], "another program", READERS)


def test_a_claim_of_gigabytes_allocates_nothing(data, refused):
    for size in (2**31, 2**32 - 2, 2**32 - 1):
        head = container.StoredFile(container.MANIFEST, min(size, 2**32 - 2), 0).header()
        refused(head + data[len(head) :], r"manifest of|another program", READERS)


def test_an_older_and_a_newer_format(data, refused):
    pairs, _ = entries(data)
    for number in (b"0", b"2", b"-1", b"1.0", b'"1"', b"true", b"null"):
        manifest = pairs[0][1].replace(b'{"format":1', b'{"format":' + number)
        out = io.BytesIO()
        container.write(out, manifest, [np.frombuffer(part, np.uint8) for _, part in pairs[1:]])
        refused(out.getvalue(), "format", READERS)


def test_the_digest_is_that_of_the_manifest(data, refused):
    pairs, comment = entries(data)
    digest = hashlib.sha256(pairs[0][1]).hexdigest().encode()
    assert comment.endswith(digest)
    refused(data.replace(digest, digest[::-1]), "SHA-256", READERS)
    refused(data.replace(digest, digest.upper()), readers=READERS)
