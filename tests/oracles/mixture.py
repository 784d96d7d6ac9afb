"""Mixtures and densities by their definitions: slow, and nothing to get wrong."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal


def full_covariances(kind, covariances, k, d):
    """Every covariance as a matrix."""
    if kind == "full":
        return covariances
    if kind == "tied":
        return np.array([covariances] * k)
    if kind == "diag":
        return np.array([np.diag(one) for one in covariances])
    return np.array([one * np.eye(d) for one in covariances])


def mixture_logs(X, kind, weights, means, covariances):
    """log πₖ N(x; μₖ, Σₖ), (n, k)."""
    k, d = means.shape
    full = full_covariances(kind, covariances, k, d)
    columns = [
        np.log(w) + multivariate_normal(m, S, allow_singular=False).logpdf(X).reshape(len(X))
        for w, m, S in zip(weights, means, full, strict=True)
    ]
    return np.array(columns).T


def em_step(X, s, kind, weights, means, covariances):
    """Mean log-likelihood, and the mixture after one step, without a floor."""
    logs = mixture_logs(X, kind, weights, means, covariances)
    total = logsumexp(logs, axis=1)
    R = np.exp(logs - total[:, None]) * s[:, None]
    n, d = R.sum(axis=0), X.shape[1]
    new = (R.T @ X) / n[:, None]
    S = np.array([((X - m) * r[:, None]).T @ (X - m) for m, r in zip(new, R.T, strict=True)])
    if kind == "full":
        S = S / n[:, None, None]
    elif kind == "tied":
        S = S.sum(axis=0) / n.sum()
    else:
        S = np.diagonal(S, axis1=1, axis2=2) / n[:, None]
        S = S if kind == "diag" else S.sum(axis=1) / d
    return float(s @ total / s.sum()), (n / n.sum(), new, S)


def held_out_means(X, codes, labels, k, steps):
    """The mean log-likelihood of rows held out, of the mixture of the others' clusters."""
    logs = np.empty(len(X))
    for fold in np.unique(codes):
        rows = X[codes != fold]
        R = np.eye(k)[labels(rows, k)]
        n = R.sum(axis=0)
        means = (R.T @ rows) / n[:, None]
        S = np.array([np.cov(rows[r > 0].T, bias=True) for r in R.T])
        point = n / n.sum(), means, S
        for _ in range(steps):
            point = em_step(rows, np.ones(len(rows)), "full", *point)[1]
        logs[codes == fold] = logsumexp(mixture_logs(X[codes == fold], "full", *point), axis=1)
    return logs.mean()
