"""Kernels of graphs as functions of matrices over all vertices of the product graph."""

import itertools

import numpy as np
from scipy.linalg import expm

from heat_plugins.space.graphs import adjacency, laplacian


def vertices(sizes):
    """All points (N, d), the last variable fastest."""
    return np.array(list(itertools.product(*map(range, sizes))), dtype=float)


def product_laplacian(sizes, betas=None, graphs=None):
    """sum_i b_i L_i over all vertices (N, N); complete graphs unless given."""
    betas = [1.0] * len(sizes) if betas is None else betas
    graphs = ["complete"] * len(sizes) if graphs is None else graphs
    total = np.zeros((1, 1))
    for g, beta, graph in zip(sizes, betas, graphs, strict=True):
        factor = beta * laplacian(adjacency(graph, g))
        total = np.kron(total, np.eye(g)) + np.kron(np.eye(len(total)), factor)
    return total


def correlations(matrix):
    """A covariance matrix over the square roots of its diagonal."""
    scale = np.sqrt(np.diagonal(matrix))
    return matrix / np.outer(scale, scale)


def look_up(matrix, left, right, sizes):
    """Entries (m, l) of a matrix over all vertices at codes (m, d) and (l, d)."""
    rows, columns = (np.ravel_multi_index(tuple(x.astype(int).T), sizes) for x in (left, right))
    return matrix[np.ix_(rows, columns)]


def heat(left, right, sizes, betas, graphs=None):
    """exp(-sum_i b_i L_i), over its diagonal."""
    matrix = correlations(expm(-product_laplacian(sizes, betas, graphs)))
    return look_up(matrix, left, right, sizes)


def phi_kernel(left, right, sizes, phi):
    """sum_j Phi(lambda_j) f_j f_j^T of complete graphs, over its diagonal."""
    values, vectors = np.linalg.eigh(product_laplacian(sizes))
    matrix = correlations(vectors * phi(values.round(10)) @ vectors.T)
    return look_up(matrix, left, right, sizes)
