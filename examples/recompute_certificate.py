"""Recompute the certificate of a logistic regression in ten lines of numpy.

minimise over (w, b):  C Σ log(1 + e^{-mᵢ}) + |w|²/2,  mᵢ = yᵢ(xᵢ·w + b),  yᵢ = ±1

For numbers 0 ≤ aᵢ ≤ 1 whose sums over the two classes are equal, no (w, b) whatever has an
objective below -C Σ [aᵢ log aᵢ + (1 - aᵢ) log(1 - aᵢ)] - |C Σ aᵢyᵢxᵢ|²/2. So each choice of a
proves a bound, and aᵢ = 1/(1 + e^{mᵢ}) at the fitted margins proves nearly the best one.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer

from fenchel import LogisticRegression

X, labels = load_breast_cancer(return_X_y=True)
model = LogisticRegression().fit(X, labels)

w, b, C = model.coef_[0], model.intercept_[0], model.C
y = np.where(labels == model.classes_[1], 1, -1)
m = y * (X @ w + b)
value = C * np.logaddexp(0, -m).sum() + w @ w / 2
a = np.exp(-np.logaddexp(0, m))  # 1/(1 + e^m), safe from overflow
mass = a[y > 0].sum(), a[y < 0].sum()
a = a * np.where(y > 0, min(mass) / mass[0], min(mass) / mass[1])  # equal sums: the free intercept
v = C * X.T @ (a * y)
entropy = a * np.log(a) + (1 - a) * np.log1p(-a)
bound = -C * entropy.sum() - v @ v / 2

print(f"by hand:      value {value:.12g}, bound {bound:.12g}")
print(f"certificate_: value {model.certificate_.value:.12g}, bound {model.certificate_.bound:.12g}")
