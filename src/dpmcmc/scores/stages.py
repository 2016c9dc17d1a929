"""The stages of a score release: find the posterior with little, then measure it with the rest.

Each stage releases the sum of all records' scores at a centre, clipped by what the records are, and moves the centre to
where that sum, all earlier ones and the prior agree. Scouts go on until they no longer move by more than their noise;
then three stages follow, the last two with most of the budget. Sums that contradict earlier ones make those forgotten,
and the last one's surprise is part of the verdict.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import chi2

from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import matrices, vectors
from dpmcmc.scores.description import spectral, towards
from dpmcmc.scores.measure import Measured, measure
from dpmcmc.scores.picture import Picture, picture, prior_precision, root_of, simulated_information
from dpmcmc.scores.reader import Reader
from dpmcmc.scores.step import REACH, Knowledge, Search, surprise

SCOUT, APPROACH, FIRST_HALF, LAST = (0.008, 0.03), (0.02, 0.12), (0.06, 0.42), (0.1, 1.0)
"""Shares for counts of norms and for a sum: of μ² for scouts, of what is left of it for the others."""

CURVATURE_COUNTS = 0.004
CURVATURE_OF_SCOUT, CURVATURE_OF_APPROACH = (0.12, 0.006, 0.03), (0.06, 0.01, 0.08)
"""The relative error of the information that is aimed at, with a share of μ² between these."""

RATIOS = (0.02, 30.0)  # of real over simulated information that are believed
MOST_SCOUTS = 6
ENOUGH_LEFT = 0.65  # of μ², below which no scout is sent
LEAST_QUANTILE = 0.98  # curvatures are clipped no earlier
LEAST_OF_SCORES = 0.95  # and scores
WELL_KNOWN = 0.15  # relative error of the information at which scouts may end
UNDESCRIBED = 0.3  # relative error of the information before curvatures are released
FEW, MANY = 8192, 32_768  # simulated records
UNLIKELY = 1e-4  # a surprise of smaller probability makes earlier sums forgotten


@dataclass(frozen=True, eq=False)
class State:
    """Where the search is, and what it knows; everything is released or public."""

    theta: np.ndarray
    knowledge: Knowledge
    ratio: np.ndarray  # real over simulated information
    ratio_error: float  # of each number of it
    moved: float = np.inf  # squared length of the last move, in standard deviations of its sum's noise
    surprises: tuple[float, ...] = ()  # probabilities of surprises as large, stage by stage
    measured: tuple[Measured, ...] = ()


class Found(NamedTuple):
    """The end of the search: what the sums say, and the model there."""

    state: State
    picture: Picture


class Stages:
    """One run: the records behind a reader, and covariates ``x`` like theirs for simulated ones."""

    def __init__(self, model: RaveledModel, reader: Reader, x: np.ndarray, key: Any) -> None:
        self.model, self.reader, self.n, self.key = model, reader, reader.n, key
        with jax.enable_x64(True):
            self.many = jnp.asarray(x)
        self.few = self.many[:FEW]

    def run(self, theta: np.ndarray) -> tuple[Found, bool]:
        """The end of the search, and whether arithmetic ended it before its time."""
        size = len(theta)
        self.state = State(theta, Knowledge.none(size), np.eye(size), UNDESCRIBED)
        failed = False
        try:
            self._search()
        except (np.linalg.LinAlgError, ArithmeticError):  # what was released is kept
            failed = True
        state = self.state
        return Found(state, picture(self.model, state.theta, self.many, state.ratio, self.n, self.key)), failed

    def _search(self) -> None:
        for _ in range(MOST_SCOUTS):
            before = self.state
            self.state = self._moved(self.state, SCOUT, far=True)
            self.state = self._curved(self.state, CURVATURE_OF_SCOUT)
            if self._settled(before, self.state) or self.reader.left < ENOUGH_LEFT:
                break
        self.state = self._moved(self.state, self._of_left(APPROACH), far=True)
        self.state = self._curved(self.state, CURVATURE_OF_APPROACH)
        self.state = self._moved(self.state, self._of_left(FIRST_HALF))
        self.state = self._moved(self.state, self._of_left(LAST))

    def _of_left(self, shares: tuple[float, float]) -> tuple[float, float]:
        return shares[0] * self.reader.left, shares[1] * self.reader.left

    def _moved(self, state: State, shares: tuple[float, float], far: bool = False) -> State:
        """After one more sum of scores."""
        here = picture(self.model, state.theta, self.many, state.ratio, self.n, self.key)
        arguments = (jnp.asarray(here.theta), jnp.asarray(here.root))
        found = measure(self.reader, vectors.scores, arguments, here.features, shares, here.harm, LEAST_OF_SCORES)
        search = Search(self.model, here, found, self.n, (self.key, self.few), far)
        known, size = state.knowledge, len(state.theta)
        chance = 1.0
        if np.any(known.precision):
            chance = float(chi2.sf(surprise(here, found, search.at, known, self.n), size))
            if chance < UNLIKELY:
                known = Knowledge.none(size)
        theta, said = search.run(known)
        step = theta - state.theta
        length = self.n * float(step @ (here.information + here.prior_precision / self.n) @ step)
        moved = float(step @ (said.precision + here.prior_precision) @ step)
        moved = np.inf if length > 0.9 * self.n * REACH**2 else moved  # cut short
        error = matrices.power(self.n * here.information + here.prior_precision, -1, 1e-14)
        said = said.blurred(state.ratio_error**2 * length * error)
        return replace(
            state,
            theta=theta,
            knowledge=known + said,
            moved=moved,
            surprises=(*state.surprises, chance),
            measured=(*state.measured, found),
        )

    def _curved(self, state: State, aim: tuple[float, float, float]) -> State:
        """After a sum of curvatures, which says how much information the real records carry."""
        size = len(state.theta)
        at = jnp.asarray(state.theta)
        records = vectors.simulate(self.model)(self.key, at, self.few)
        simulated = simulated_information(self.model, at, records)
        precision = prior_precision(self.model, state.theta) / self.n
        lower = root_of(simulated + precision)
        own = np.linalg.inv(lower)
        inverse = np.linalg.inv(lower @ np.linalg.cholesky(state.ratio))
        expected = np.asarray(vectors.on_public(self.model, vectors.curvatures)((at, jnp.asarray(own)), records))
        arguments = (at, jnp.asarray(inverse))
        longest = np.quantile(np.linalg.norm(expected, axis=1), LEAST_QUANTILE)
        share = np.clip((2 * longest / (self.reader.mu * self.n * aim[0])) ** 2, *aim[1:])
        shares = (CURVATURE_COUNTS, float(share))
        found = measure(self.reader, vectors.curvatures, arguments, expected, shares, least=LEAST_QUANTILE)
        noise = found.error(self.n)
        seen = matrices.as_matrix(found.mean(expected, self.n), size) + inverse @ precision @ inverse.T
        ratio = matrices.positive(towards(seen, np.eye(size), noise), 0.3, 3.0)
        root = np.linalg.cholesky(state.ratio)
        left = np.sqrt(np.mean(np.square(matrices.as_numbers(ratio - np.eye(size)))))
        error = max(noise * min(1.0, left / noise), min(noise, 0.02))
        return replace(state, ratio=root @ ratio @ root.T, ratio_error=min(state.ratio_error, max(error, noise / 2)))

    def _settled(self, before: State, after: State) -> bool:
        """Whether the last scout moved no farther than its noise, and the information no longer changes much."""
        size = len(after.theta)
        change = np.linalg.eigvalsh(after.ratio @ np.linalg.inv(before.ratio) @ after.ratio.T)
        still = bool(np.all(np.abs(np.sqrt(np.abs(change)) - 1) < 0.6)) or spectral(after.ratio_error, size) > 1
        return after.moved < 2 * (size + 3 * np.sqrt(2 * size)) and still and after.ratio_error < WELL_KNOWN
