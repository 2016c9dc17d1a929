"""The stages of a score release: find the posterior with little, then measure it with the rest.

Each stage releases the sum of all records' scores at a centre, clipped by what the records are, and moves the centre to
where that sum, all earlier ones and the prior agree. Scouts go on until they no longer move by more than their noise;
then three stages follow, the last two with most of the budget. Sums that contradict earlier ones make those forgotten,
and the last one's surprise is part of the verdict.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2

from dpmcmc.models.units import RECORD, unit_of
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import matrices, vectors
from dpmcmc.scores.curvature import UNDESCRIBED, Doubt, learn
from dpmcmc.scores.foresight import Foresight
from dpmcmc.scores.measure import measure
from dpmcmc.scores.picture import Picture, Simulated, picture
from dpmcmc.scores.reader import Reader
from dpmcmc.scores.recall import NEAR, Released, near, recalled, tails
from dpmcmc.scores.step import Knowledge, Search, of_prior, sampling, surprise

SCOUT, APPROACH, FIRST_HALF, LAST = (0.008, 0.03), (0.025, 0.12), (0.08, 0.42), (0.13, 1.0)
"""Shares for counts of norms and for a sum: of μ² for scouts, of what is left of it for the others."""

CURVATURE_OF_SCOUT, CURVATURE_OF_APPROACH = (0.12, 0.006, 0.03), (0.06, 0.01, 0.08)
"""The relative error of the information that is aimed at, with a share of μ² between these."""

MOST_SCOUTS = 6
SOME, LEAST_SHARE, NOISE_OF_SOME = 2**21, 1 / 64, 1e-3
"""Scouts read so many records at least, such a share, and as many as make their noise this small beside the number."""

OVER_SOME = 4  # scouts over some records, of the most; the others are for all, where those were misled

ENOUGH_LEFT = 0.5  # of μ², below which no scout is sent
BLIND_SCOUTS, BLIND_SCOUT = 9, (0.02, 0.03)
"""The same where nothing is foreseen: searches take longer, and lengths are known from counts alone."""

OF_BLIND = 3  # the last sums so many are used at the end: those of scouts have clips that were chosen with less
WELL_KNOWN = 0.15  # relative error of the information at which scouts may end
CHANGES = 0.5  # of the logarithm of the information between scouts, beyond its error, for them to end
UNLIKELY = 1e-4  # a surprise of smaller probability makes earlier sums forgotten


@dataclass(frozen=True, eq=False)
class State:
    """Where the search is, and what it knows; everything is released or public."""

    theta: np.ndarray
    ratio: np.ndarray  # real over simulated information
    doubt: Doubt | None = None  # of the information; None before curvatures are released
    learnt: np.ndarray | None = None  # where curvatures were released last
    moved: float = np.inf  # squared length of the last move, in standard deviations of its sum's noise
    surprises: tuple[float, ...] = ()  # probabilities of surprises as large, stage by stage
    sums: tuple[Released, ...] = ()  # that nothing contradicts

    @property
    def information_error(self) -> float:
        """Relative, of a typical number."""
        return UNDESCRIBED if self.doubt is None else self.doubt.typical


class Found(NamedTuple):
    """The end of the search: what the sums say, and the model there."""

    state: State
    picture: Picture
    knowledge: Knowledge
    typical: Knowledge  # the same as certain as it mostly is, where that allows for more
    n: int
    blind: bool  # whether nothing was foreseen of records

    def record_width(self, information: np.ndarray | None = None) -> np.ndarray:
        """Covariance of what the likelihood of one record leaves open, with the doubt about the information.

        That of the picture, or another nearby.
        """
        some = self.picture.some_information
        width = matrices.power(
            some if information is None else information + some - self.picture.information, -1, 1e-14
        )
        return width if self.state.doubt is None else width + self.state.doubt.of_width()


class Stages:
    """One run: the records behind a reader, and what they are expected to be like."""

    def __init__(self, model: RaveledModel, reader: Reader, foresight: Foresight, shuffled: bool = False) -> None:
        self.model, self.reader, self.n, self.foresight, self.shuffled = model, reader, reader.n, foresight, shuffled
        self._simulated: dict[bytes, Simulated] = {}
        self._pictures: tuple[bytes, dict[Any, Picture]] = (b"", {})  # with the newest ratio

    def run(self, theta: np.ndarray) -> tuple[Found, bool]:
        """The end of the search, and whether arithmetic ended it before its time."""
        size = len(theta)
        self.state = State(theta, np.eye(size))
        failed = False
        try:
            self._search()
        except (np.linalg.LinAlgError, ArithmeticError):  # what was released is kept
            failed = True
        if self.state.doubt is not None:
            self.state = replace(self.state, doubt=self._here(self.state).cautious())
        if self.foresight.blind:
            self.state = replace(self.state, sums=self.state.sums[-OF_BLIND:])
        here = self._picture(self.state)
        mostly = tuple(one._replace(found=one.found.typical()) for one in self.state.sums)
        said, typical = (self._recalled(state, here)[0] for state in (self.state, replace(self.state, sums=mostly)))
        return Found(self.state, here, said, typical, self.n, self.foresight.blind), failed

    def _search(self) -> None:
        most, shares = MOST_SCOUTS, SCOUT
        if self.foresight.blind:
            most, shares = BLIND_SCOUTS, BLIND_SCOUT
        every, begin = self._every(shares[1]), self.state
        if every == 1:
            self._scouts(most, shares)
            self._approach()
        elif not self._led_by_some(every, shares):
            self.state = replace(begin, surprises=self.state.surprises)
            self._scouts(most - OVER_SOME, shares)
            self._approach()
        self.state = self._moved(self.state, self._of_left(FIRST_HALF))
        self.state = self._moved(self.state, self._of_left(LAST))

    def _scouts(self, most: int, shares: tuple[float, float]) -> None:
        for _ in range(most):
            before = self.state
            self.state = self._moved(self.state, shares, CURVATURE_OF_SCOUT)
            if self._settled(before, self.state) or self.reader.left < ENOUGH_LEFT:
                break

    def _approach(self) -> None:
        self.state = self._moved(self.state, self._of_left(APPROACH), CURVATURE_OF_APPROACH)

    def _every(self, share: float) -> int:
        """Scouts read every so manieth block, where the records of those are enough: public.

        Only where the order of the records is said to have nothing to do with what they hold. Persons are listed by
        their identities, so that another identity of one moves all that follow to other places: of them, all are read.
        """
        enough = max(SOME, LEAST_SHARE * self.n, self.reader.noise / np.sqrt(share) / NOISE_OF_SOME)
        all_of_them = not self.shuffled or self.foresight.blind or unit_of(self.model.model) != RECORD
        return 1 if all_of_them else max(int(self.n // enough), 1)

    def _led_by_some(self, every: int, shares: tuple[float, float]) -> bool:
        """Scouts over some blocks, and the approach from where they lead, over all; whether that was near.

        Their sums are of other records, so they are not kept; the information is learnt again, of all.
        """
        self._read(every)
        try:
            self._scouts(OVER_SOME, shares)
        except (np.linalg.LinAlgError, ArithmeticError):
            return False
        finally:
            self._read(1)
        self.state = replace(self.state, sums=())
        self._approach()
        return self._distance(self.state) < NEAR

    def _read(self, every: int) -> None:
        self.reader.every = every
        self.n, self._pictures = self.reader.n, (b"", {})

    def _of_left(self, shares: tuple[float, float]) -> tuple[float, float]:
        return shares[0] * self.reader.left, shares[1] * self.reader.left

    def _picture(self, state: State, root: np.ndarray | None = None) -> Picture:
        place, ratio = state.theta.tobytes(), state.ratio.tobytes()
        if place not in self._simulated:
            self._simulated[place] = self.foresight.at(state.theta)
        if self._pictures[0] != ratio:
            self._pictures = ratio, {}
        pictures, key = self._pictures[1], (place, None if root is None else root.tobytes())
        if key not in pictures:
            pictures[key] = picture(self._simulated[place], state.ratio, self.n, root)
        return pictures[key]

    def _moved(self, state: State, shares: tuple[float, float], aim: tuple[float, float, float] | None = None) -> State:
        """After one more sum of scores; for those who come from far, also of curvatures, with an ``aim``.

        A scout that goes out of reach does not know where records come from, so it has no use for their curvatures.
        """
        here = self._picture(state)
        arguments = (here.theta, here.root)
        earlier, blind = tails(near(state.sums, here, self.n)), self.foresight.blind
        found = measure(self.reader, vectors.scores, arguments, here.features, shares, here.harm, earlier, blind)
        if aim is not None:
            search = Search(here, found, self.n, self.foresight, far=True)
            remembered, _ = self._remembered(state, search)
            place = search.run(self._of_parameters(here, remembered))[0]
            if self.foresight.blind or aim != CURVATURE_OF_SCOUT or not self._out_of_reach(here, place):
                known = (state.ratio, UNDESCRIBED if state.doubt is None else self._here(state).typical)
                ratio, doubt = learn(self.model, self.reader, (state.theta, place), known, self.foresight, aim)
                state = replace(state, ratio=ratio, doubt=doubt, learnt=state.theta)
                here = self._picture(state, here.root)
        search = Search(here, found, self.n, self.foresight, far=aim is not None)
        remembered, chance = self._remembered(state, search)
        place, said = search.run(self._of_parameters(here, remembered))
        noise_alone = said.precision + here.prior_precision
        if state.doubt is not None:
            spread = matrices.power(said.precision + here.prior_precision, -1, 1e-14)
            said = said.blurred(state.doubt.of_move(place - state.theta) + state.doubt.of_noise(spread))
        step = place - state.theta
        return replace(
            state,
            theta=place,
            moved=np.inf if self._out_of_reach(here, place) else float(step @ noise_alone @ step),
            surprises=(*state.surprises, chance),
            sums=(*(() if chance < UNLIKELY else state.sums), Released(here.theta, here.root, found, said)),
        )

    def _here(self, state: State) -> Doubt:
        """What is known of the information where the search is now, and not where curvatures were released."""
        assert state.doubt is not None
        if not self.foresight.blind or state.learnt is None:
            return state.doubt
        return state.doubt.elsewhere(state.theta - state.learnt)

    def _distance(self, state: State) -> float:
        """Of the last move, in standard deviations of the posterior of one record."""
        step = state.theta - state.sums[-1].theta
        return float(np.sqrt(step @ self._picture(state).information @ step))

    def _recalled(self, state: State, here: Picture) -> tuple[Knowledge, Knowledge]:
        """What sums that are near say, and the others."""

        def pictured(released: Released) -> Picture:
            return self._picture(replace(state, theta=released.theta), released.root)

        return recalled(state.sums, pictured, here, state.doubt, self.n, self.foresight)

    def _of_parameters(self, here: Picture, known: Knowledge) -> Knowledge:
        """What sums that say so much of the estimate without privacy, and the prior, say of the parameters."""
        return known.blurred(sampling(here, self.n)) + of_prior(here)

    def _out_of_reach(self, here: Picture, place: np.ndarray) -> bool:
        """Whether a search ended where its sum can no longer tell."""
        away = place - here.theta
        return bool(away @ (here.information + here.prior_precision / self.n) @ away > 0.9 * self.foresight.reach**2)

    def _remembered(self, state: State, search: Search) -> tuple[Knowledge, float]:
        """What earlier sums say, unless the new one contradicts them; and the probability of such a surprise."""
        near, far = self._recalled(state, search.picture)
        size, known = len(state.theta), near + far
        if not np.any(known.precision):
            return known, 1.0
        with_prior = known + of_prior(search.picture).blurred(sampling(search.picture, self.n))
        chance = float(chi2.sf(surprise(search.picture, search.found, search.at, with_prior, self.n), size))
        return (Knowledge.none(size) if chance < UNLIKELY else known), chance

    def _settled(self, before: State, after: State) -> bool:
        """Whether the last scout moved no farther than its noise, and the information no longer changes much."""
        size = len(after.theta)
        change = np.log(np.abs(np.linalg.eigvals(np.linalg.solve(before.ratio, after.ratio))))
        limit = max(CHANGES, 3 * after.information_error * np.sqrt(size))  # errors of all numbers move eigenvalues
        still = bool(np.all(np.abs(change) < limit))
        if self.foresight.blind and self._distance(after) > NEAR:
            return False
        return after.moved < 2 * (size + 3 * np.sqrt(2 * size)) and still and after.information_error < WELL_KNOWN
