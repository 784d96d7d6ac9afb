"""The main job on bundled data: a fit, its proof, and scikit-learn's default fit held to it."""

from __future__ import annotations

import time
import warnings


def main() -> None:
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression as Peer

    from fenchel import Certificate, LogisticRegression, certify

    X, y = load_breast_cancer(return_X_y=True)
    rows, columns = X.shape
    print(f"scikit-learn's breast-cancer table: {rows} rows, {columns} columns, 2 classes")
    print("logistic regression, C=1: objective C Σ log(1 + exp(-y(x·w + b))) + |w|²/2\n")

    def show(name: str, certificate: Certificate, accuracy: float, seconds: float) -> None:
        print(f"{name}, {seconds:.2f} s")
        print(f"  objective reached           {certificate.value:.9f}")
        print(f"  no model is better than     {certificate.bound:.9f}")
        print(f"  proved relative gap         {certificate.relative_gap:.1e}")
        print(f"  accuracy on these rows      {accuracy:.3f}\n")

    begun = time.perf_counter()
    ours = LogisticRegression().fit(X, y)
    show("fenchel", ours.certificate_, ours.score(X, y), time.perf_counter() - begun)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        begun = time.perf_counter()
        theirs = Peer().fit(X, y)
        seconds = time.perf_counter() - begun
    proof = certify(theirs, X, y)
    show("scikit-learn, default settings", proof, theirs.score(X, y), seconds)
    said = ", ".join(sorted({type(w.message).__name__ for w in caught})) or "no warning"
    excess = (proof.value - ours.certificate_.bound) / ours.certificate_.bound
    print(
        f"scikit-learn's objective is {100 * excess:.1f} % above the best possible "
        f"(it said: {said})."
    )


if __name__ == "__main__":
    main()
