"""The judge of maps, in float64 numpy and ARPACK: subspaces, geodesics, weights, cuts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import dijkstra
from scipy.sparse.linalg import eigsh
from scipy.spatial import cKDTree

Floats = NDArray[np.float64]


def sine(right: Any, found: Any) -> float:
    """Of the largest angle between two subspaces, each spanned by columns."""
    right, found = (np.linalg.qr(np.asarray(part, np.float64))[0] for part in (right, found))
    return float(np.linalg.norm(right - found @ (found.T @ right), 2))


def squared_distances(X: Any, Z: Any) -> Floats:
    X, Z = np.asarray(X, np.float64), np.asarray(Z, np.float64)
    D = X @ Z.T
    D *= -2.0
    D += (X * X).sum(axis=1)[:, None]
    D += (Z * Z).sum(axis=1)
    return np.maximum(D, 0.0, out=D)


def gaussian(X: Any, gamma: float) -> Floats:
    K = squared_distances(X, X)
    K *= -gamma
    return np.exp(K, out=K)


def centred(K: Floats) -> Floats:
    """Rows and columns of mean zero, in place."""
    mean = K.mean(axis=0)
    K -= mean
    K -= (mean - mean.mean())[:, None]
    return K


def leading(A: Any, k: int) -> Floats:
    """Eigenvectors of the k largest eigenvalues."""
    return np.asarray(eigsh(A, k, which="LA", tol=0, v0=np.ones(A.shape[0]))[1])


def projection_error(X: Any, components: Any) -> tuple[float, float]:
    """Σ of what the rows about their mean leave outside a subspace: found, and the least."""
    rows = X.astype(np.float64)
    rows -= rows.mean(axis=0)
    S = rows.T @ rows
    basis = np.linalg.qr(np.asarray(components, np.float64).T)[0]
    best = np.linalg.eigvalsh(S)[: -basis.shape[1]].sum()
    return float(np.trace(S) - np.einsum("ak,ab,bk->", basis, S, basis)), float(best)


def neighbour_lists(X: Floats, k: int) -> tuple[Floats, NDArray[np.int64]]:
    """Distances and numbers of the k nearest others."""
    distances, numbers = cKDTree(X).query(X, k + 1)
    return distances[:, 1:], numbers[:, 1:]


def as_graph(values: Floats, numbers: NDArray[np.int64]) -> Any:
    n, k = numbers.shape
    ends = np.arange(0, n * k + 1, k)
    return sparse.csr_matrix((values.ravel(), numbers.ravel(), ends), shape=(n, n))


def geodesic_axes(X: Floats, neighbours: int, k: int) -> Floats:
    """The leading axes of classical scaling of the shortest paths."""
    D = dijkstra(as_graph(*neighbour_lists(X, neighbours)), directed=False)
    D *= D
    D *= -0.5
    return leading(centred(D), k)


def barycentric_axes(X: Floats, neighbours: int, k: int, ridge: float = 1e-3) -> Floats:
    """The k axes after the constant one that rows as means of their neighbours bend least."""
    numbers = neighbour_lists(X, neighbours)[1]
    to = X[numbers] - X[:, None, :]
    C = to @ to.transpose(0, 2, 1)
    spread = ridge * np.trace(C, axis1=1, axis2=2)
    C[:, np.arange(neighbours), np.arange(neighbours)] += spread[:, None]
    W = np.linalg.solve(C, np.ones((*C.shape[:2], 1)))[:, :, 0]
    W /= W.sum(axis=1, keepdims=True)
    M = sparse.identity(len(X)) - as_graph(W, numbers)
    M = (M.T @ M).tocsc()
    axes = eigsh(M, k + 1, sigma=0.0, tol=0, v0=np.random.default_rng(0).random(len(X)))[1]
    return np.asarray(axes[:, 1:])


def neighbour_affinity(X: Floats, neighbours: int) -> Any:
    """scikit-learn's: 1 for the row itself and its nearest, `neighbours` together; the mean of both
    directions."""
    numbers = neighbour_lists(X, neighbours - 1)[1]
    A = as_graph(np.ones(numbers.shape), numbers) + sparse.identity(len(X))
    return (0.5 * (A + A.T)).tocsr()


def normalised_cut(A: Any, labels: Any) -> float:
    """Σ over the groups of what leaves them over what they hold, each row without its own loop."""
    labels = np.unique(labels, return_inverse=True)[1]
    E = sparse.csr_matrix((np.ones(len(labels)), (np.arange(len(labels)), labels)))
    own = A.diagonal()
    degree = np.asarray(A.sum(axis=1)).ravel() - own
    mass = E.T @ degree
    inside = (E.T @ (A @ E)).diagonal() - E.T @ own
    return float((1.0 - inside / mass).sum())


def spectral_groups(A: Any, k: int) -> NDArray[Any]:
    """Rows of the k leading axes of D^(-1/2) A D^(-1/2), over √degree, grouped by k-means."""
    from sklearn.cluster import KMeans

    own = A.diagonal()
    degree = np.asarray(A.sum(axis=1)).ravel() - own
    scale = 1.0 / np.sqrt(degree)
    if sparse.issparse(A):
        B = sparse.diags(scale) @ (A - sparse.diags(own)) @ sparse.diags(scale)
    else:
        B = A * scale * scale[:, None]
        np.fill_diagonal(B, 0.0)
    axes = leading(B, k) * scale[:, None]
    return np.asarray(KMeans(k, n_init=10, random_state=0).fit_predict(axes))
