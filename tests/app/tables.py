"""Small made tables, written as the well-known public ones are: their dialect, not their numbers.

Each function returns a `MadeTable` of seeded random rows in which the target follows from the other
columns, so that reports on them have something to find.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class MadeTable:
    """The bytes of a file and what a reader should find in them."""

    content: bytes
    file_name: str
    names: tuple[str, ...]  # of the columns, "column 1", … where the file has no header
    target: str
    kind: str  # of the task: two classes, several classes, number
    header: bool
    rows: int

    @property
    def problems(self) -> int:
        """How many problems the reader should name: one where the header is missing."""
        return 0 if self.header else 1


def _unnamed(count: int) -> tuple[str, ...]:
    return tuple(f"column {number}" for number in range(1, count + 1))


def _lines(rows: Sequence[Sequence[object]], delimiter: str, end: str = "\n") -> bytes:
    return "".join(delimiter.join(map(str, row)) + end for row in rows).encode()


def _pick(rng: np.random.Generator, levels: Sequence[str], rows: int) -> np.ndarray:
    """Levels with falling frequencies, as categories have."""
    weight = 1.0 / np.arange(1, len(levels) + 1)
    return rng.choice(np.array(levels, dtype=object), rows, p=weight / weight.sum())


def credit(rows: int = 300, seed: int = 0) -> MadeTable:
    """Credit, like german.data: codes and whole numbers between single spaces, no header."""
    rng = np.random.default_rng([1, seed])
    codes = (
        *(("A11", "A12", "A13", "A14"), ("A34", "A32", "A33", "A31")),
        *(("A43", "A46", "A42", "A40"), ("A65", "A61", "A63"), ("A75", "A73", "A74", "A71")),
        *(("A93", "A92", "A91"), ("A101", "A103"), ("A121", "A122", "A124"), ("A143", "A141")),
        *(("A152", "A153"), ("A173", "A172", "A174"), ("A192", "A191"), ("A201", "A202")),
    )
    text = [_pick(rng, levels, rows) for levels in codes]
    months, amount = rng.integers(4, 61, rows), rng.integers(250, 15000, rows)
    share, years = rng.integers(1, 5, rows), rng.integers(1, 5, rows)
    age, loans, persons = (
        rng.integers(19, 76, rows),
        rng.integers(1, 4, rows),
        rng.integers(1, 3, rows),
    )
    risk = (months - 30) / 15 + (text[0] == "A11") - (text[0] == "A14") + rng.normal(size=rows)
    label = 1 + (risk > 0.5)
    order = [text[0], months, text[1], text[2], amount, text[3], text[4], share, text[5], text[6]]
    order += [years, text[7], age, text[8], text[9], loans, text[10], persons, text[11], text[12]]
    table = list(zip(*order, label, strict=True))
    names = _unnamed(21)
    return MadeTable(
        _lines(table, " "), "german.data", names, names[-1], "two classes", False, rows
    )


def census(rows: int = 300, seed: int = 0) -> MadeTable:
    """Census, like adult.data: comma and blank, "?" for missing, no header, a blank last line."""
    rng = np.random.default_rng([2, seed])
    work = _pick(rng, ("Private", "Self-emp-not-inc", "Local-gov", "?", "State-gov"), rows)
    schools = ("HS-grad", "Some-college", "Bachelors", "Masters", "11th")
    school = _pick(rng, schools, rows)
    years = np.array([9, 10, 13, 14, 7])[[schools.index(one) for one in school]]
    married = _pick(rng, ("Married-civ-spouse", "Never-married", "Divorced", "Widowed"), rows)
    job = _pick(rng, ("Prof-specialty", "Craft-repair", "Exec-managerial", "?", "Sales"), rows)
    place = _pick(rng, ("Husband", "Not-in-family", "Own-child", "Unmarried"), rows)
    race = _pick(rng, ("White", "Black", "Asian-Pac-Islander", "Other"), rows)
    sex = _pick(rng, ("Male", "Female"), rows)
    age, weight = rng.integers(17, 91, rows), rng.integers(12285, 1484705, rows)
    gain = np.where(rng.random(rows) < 0.1, rng.integers(114, 99999, rows), 0)
    loss = np.where(rng.random(rows) < 0.05, rng.integers(155, 4356, rows), 0)
    hours = rng.integers(1, 100, rows)
    country = _pick(rng, ("United-States", "Mexico", "?", "Philippines"), rows)
    rich = years / 3 + age / 25 + (married == "Married-civ-spouse") + rng.normal(size=rows) > 6.5
    label = np.where(rich, ">50K", "<=50K")
    order = (age, work, weight, school, years, married, job, place, race, sex, gain, loss, hours)
    table = list(zip(*order, country, label, strict=True))
    names = _unnamed(15)
    content = _lines(table, ", ") + b"\n"
    return MadeTable(content, "adult.data", names, names[-1], "two classes", False, rows)


def heart(rows: int = 300, seed: int = 0) -> MadeTable:
    """Heart disease, like processed.cleveland.data: decimals and commas, some "?", no header."""
    rng = np.random.default_rng([3, seed])
    whole = [(29, 78), (0, 2), (1, 5), (94, 201), (126, 565), (0, 2), (0, 3), (71, 203), (0, 2)]
    columns = [[f"{value:.1f}" for value in rng.integers(*ends, rows)] for ends in whole]
    peak = np.round(rng.exponential(1.0, rows), 1)
    slope, vessels = rng.integers(1, 4, rows), rng.integers(0, 4, rows)
    thal = rng.choice([3, 6, 7], rows)
    columns += [[f"{value:.1f}" for value in part] for part in (peak, slope, vessels, thal)]
    for place, count in ((11, 4), (12, 2)):
        for row in rng.choice(rows, count, replace=False):
            columns[place][row] = "?"
    ill = np.clip(vessels + peak + rng.normal(0.0, 0.7, rows) - 1.5, 0, 4).astype(int)
    table = list(zip(*columns, ill, strict=True))
    names = _unnamed(14)
    return MadeTable(
        _lines(table, ","),
        "processed.cleveland.data",
        names,
        names[-1],
        "several classes",
        False,
        rows,
    )


def spam(rows: int = 300, seed: int = 0) -> MadeTable:
    """Spam, like spambase.data: 57 numbers, most of them 0, and 0 or 1, commas, no header."""
    rng = np.random.default_rng([4, seed])
    share = np.where(
        rng.random((rows, 54)) < 0.8, 0.0, np.round(rng.exponential(1.0, (rows, 54)), 2)
    )
    mean = np.round(1 + rng.exponential(3.0, rows), 3)
    longest, total = rng.integers(1, 1000, rows), rng.integers(1, 15000, rows)
    label = (share[:, 6] + share[:, 52] + mean / 4 + rng.normal(0.0, 0.4, rows) > 1.3).astype(int)
    table = [
        [*(f"{value:g}" for value in share[row]), mean[row], longest[row], total[row], label[row]]
        for row in range(rows)
    ]
    names = _unnamed(58)
    return MadeTable(
        _lines(table, ","), "spambase.data", names, names[-1], "two classes", False, rows
    )


def messages(rows: int = 300, seed: int = 0) -> MadeTable:
    """Text messages, like SMSSpamCollection: a tab, quotes that no rule governs, no header."""
    rng = np.random.default_rng([5, seed])
    plain = ("Ok lar", "see you at home", "call me later", "Go until jurong point", "I'm busy now")
    loud = ("WINNER!! claim your prize", "Free entry, text WIN", "urgent: call 0906 now")
    quotes = ('"Gimme a few" was {}', '{} "crazy..', '"{}', '{} "ok"', 'he said "{}" to me', '"{}"')
    lines = []
    for row in range(rows):
        is_loud = rng.random() < 0.3
        parts = rng.choice(loud if is_loud else plain, 2)
        text = f"{parts[0]}, {parts[1]} {rng.integers(1, 100)}..."
        if row < len(quotes) or rng.random() < 0.05:
            text = quotes[row % len(quotes)].format(text)
        lines.append(("spam" if is_loud else "ham", text))
    lines[0] = ("ham", 'Go until jurong point, "crazy..')
    names = _unnamed(2)
    content = _lines(lines, "\t")
    return MadeTable(content, "SMSSpamCollection", names, names[0], "two classes", False, rows)


def wine(rows: int = 300, seed: int = 0) -> MadeTable:
    """Wine quality, like winequality-red.csv: semicolons, decimal points, quoted names."""
    rng = np.random.default_rng([6, seed])
    names = (
        *("fixed acidity", "volatile acidity", "citric acid", "residual sugar", "chlorides"),
        *("free sulfur dioxide", "total sulfur dioxide", "density", "pH", "sulphates", "alcohol"),
        "quality",
    )
    low = np.array([4.6, 0.12, 0.0, 0.9, 0.012, 1.0, 6.0, 0.990, 2.74, 0.33, 8.4])
    high = np.array([15.9, 1.58, 1.0, 15.5, 0.611, 72.0, 289.0, 1.004, 4.01, 2.0, 14.9])
    X = low + (high - low) * rng.beta(2.0, 4.0, (rows, 11))
    digits = (1, 3, 2, 1, 3, 0, 0, 5, 2, 2, 1)
    quality = np.clip(np.round(X[:, 10] / 2 - X[:, 1] + rng.normal(0.5, 0.5, rows)), 3, 8)
    table = [
        [*(f"{x:.{places}f}" for x, places in zip(X[row], digits, strict=True)), int(quality[row])]
        for row in range(rows)
    ]
    head = ";".join(f'"{name}"' for name in names).encode() + b"\n"
    content = head + _lines(table, ";")
    return MadeTable(
        content, "winequality-red.csv", names, "quality", "several classes", True, rows
    )


def housing(rows: int = 300, seed: int = 0) -> MadeTable:
    """Housing, like Boston's housing.data: numbers of fixed width after spaces, no header."""
    rng = np.random.default_rng([7, seed])
    rooms, poor = rng.normal(6.3, 0.7, rows), rng.uniform(1.7, 38.0, rows)
    price = np.clip(9.0 * rooms - 0.6 * poor - 22 + rng.normal(0.0, 2.0, rows), 5, 50)
    lines = []
    for row in range(rows):
        crime, zone = rng.exponential(3.6), rng.choice([0.0, 12.5, 18.0, 80.0])
        lines.append(
            f" {crime:.5f} {zone:6.2f} {rng.uniform(0.5, 27):7.3f}  {int(rng.random() < 0.07)}  "
            f"{rng.uniform(0.38, 0.87):.4f}  {rooms[row]:.4f} {rng.uniform(3, 100):6.2f}  "
            f"{rng.uniform(1.1, 12):.4f}  {rng.integers(1, 25):2d}  {rng.uniform(187, 711):5.1f}  "
            f"{rng.uniform(12.6, 22):5.2f} {rng.uniform(1, 396.9):6.2f} {poor[row]:6.2f} "
            f"{price[row]:6.2f}\n"
        )
    names = _unnamed(14)
    content = "".join(lines).encode()
    return MadeTable(content, "housing.data", names, names[-1], "number", False, rows)


def sonar(rows: int = 208, seed: int = 0) -> MadeTable:
    """Sonar, like sonar.all-data: 60 numbers of four decimals and a letter, no header."""
    rng = np.random.default_rng([8, seed])
    X = rng.beta(1.5, 3.0, (rows, 60))
    mine = X[:, 10] + X[:, 35] - X[:, 48] + rng.normal(0.0, 0.1, rows) > 0.35
    table = [
        [*(f"{x:.4f}" for x in X[row]), "M" if mine[row] else "R"]
        for row in np.argsort(mine, kind="stable")  # as there, one class after the other
    ]
    names = _unnamed(61)
    return MadeTable(
        _lines(table, ","), "sonar.all-data", names, names[-1], "two classes", False, rows
    )


def homology(rows: int = 300, seed: int = 0) -> MadeTable:
    """Protein homology, like bio_train.dat: block, number, class, 74 numbers; tabs, no header."""
    rng = np.random.default_rng([9, seed])
    X = rng.normal(0.0, 20.0, (rows, 74))
    label = (X[:, 4] - X[:, 30] + rng.normal(0.0, 8.0, rows) > 25).astype(int)
    table = [
        [
            (279, 288, 197, 12, 302, 54)[row // 50 % 6] + row // 300,
            261532 + row,
            label[row],
            *(f"{x:.2f}" for x in X[row]),
        ]
        for row in range(rows)
    ]
    names = _unnamed(77)
    return MadeTable(
        _lines(table, "\t"), "bio_train.dat", names, names[2], "two classes", False, rows
    )


def shuttle(rows: int = 400, seed: int = 0) -> MadeTable:
    """Shuttle, like shuttle.trn: whole numbers between single spaces, no header."""
    rng = np.random.default_rng([10, seed])
    X = np.round(
        rng.normal([48, 0, 85, 0, 34, 1, 37, 51, 14], [12, 8, 9, 4, 20, 30, 13, 20, 19], (rows, 9))
    )
    label = np.where(X[:, 0] > 60, 4, np.where(X[:, 8] < -10, 5, 1))
    table = [[*(int(x) for x in X[row]), label[row]] for row in range(rows)]
    names = _unnamed(10)
    return MadeTable(
        _lines(table, " "), "shuttle.trn", names, names[-1], "several classes", False, rows
    )


def european_export(rows: int = 200, seed: int = 0) -> MadeTable:
    """A European export: semicolons, decimal commas, thousands points, percents, "€", CRLF."""
    rng = np.random.default_rng([11, seed])
    names = ("Datum", "Kunde", "Filiale", "Umsatz", "Menge", "Rabatt", "Preis", "Gewicht")
    amount = np.round(rng.uniform(200.0, 90_000.0, rows), 2)
    count, discount = rng.integers(100, 90_000, rows), np.round(rng.uniform(0, 30, rows), 1)
    weight = np.round(rng.uniform(0.1, 80.0, rows), 3)
    price = np.round(0.02 * amount + 0.5 * weight + rng.normal(0.0, 20.0, rows) + 60, 2)
    table = [
        (
            f"{rng.integers(1, 29):02d}.{rng.integers(1, 13):02d}.2024",
            f"Firma {rng.choice(list('ABCDE'))} & Söhne",
            rng.choice(["Köln", "Berlin", "Zürich"]),
            _european(f"{amount[row]:,.2f}"),
            _european(f"{count[row]:,}"),
            _european(f"{discount[row]:.1f}") + " %",
            _european(f"{price[row]:,.2f}") + " €",
            _european(f"{weight[row]:.3f}"),
        )
        for row in range(rows)
    ]
    content = _lines([names, *table], ";", "\r\n")
    return MadeTable(content, "Auswertung.csv", names, "Preis", "number", True, rows)


def _european(text: str) -> str:
    return text.translate(str.maketrans(",.", ".,"))


def us_export(rows: int = 200, seed: int = 0) -> MadeTable:
    """A US export: commas, quoted amounts such as "$1,169.50" and "(1,200)", "12.5%"."""
    rng = np.random.default_rng([12, seed])
    names = ("account", "region", "revenue", "profit", "units", "growth", "churned")
    revenue = np.round(rng.uniform(200.0, 90_000.0, rows), 2)
    profit = rng.integers(-9000, 9000, rows)
    units, growth = rng.integers(10, 20_000, rows), np.round(rng.normal(5.0, 6.0, rows), 1)
    churned = profit / 5000 + growth / 6 + rng.normal(0.0, 0.5, rows) < 0.4
    table = [
        (
            f"AC-{1000 + row}",
            rng.choice(["North", "South", "East", "West"]),
            f'"${revenue[row]:,.2f}"',
            f'"({-profit[row]:,})"' if profit[row] < 0 else f'"{profit[row]:,}"',
            f'"{units[row]:,}"',
            f"{growth[row]:.1f}%",
            "yes" if churned[row] else "no",
        )
        for row in range(rows)
    ]
    content = _lines([names, *table], ",")
    return MadeTable(content, "accounts.csv", names, "churned", "two classes", True, rows)


TABLES = (
    *(credit, census, heart, spam, messages, wine, housing, sonar, homology, shuttle),
    *(european_export, us_export),
)
