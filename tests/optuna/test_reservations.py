"""No two workers keep the same point, in whatever order their reads and writes come."""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from heat_plugins.optuna.reservations import MOST_RESERVATIONS, reserve


@dataclass(eq=False)
class Worker:
    """A trial as others see it, and what it has come to."""

    number: int
    point: NDArray[np.float64] | None = None
    params: dict[str, Any] = field(default_factory=dict)  # once it has decided
    n_claims: int = 0
    result: NDArray[np.float64] | None = None


class Reader:
    """Compares points as they are."""

    @staticmethod
    def is_among(points: NDArray[np.float64], others: list[NDArray[np.float64]]) -> Any:
        return np.array([any(np.array_equal(p, other) for other in others) for p in points])


class Schedule:
    """Lets threads do one thing at a time, in an order that a seed decides."""

    def __init__(self, seed: int, n_threads: int) -> None:
        self._random = random.Random(seed)
        self._changed = threading.Condition()
        self._n_alive = n_threads
        self._waiting: list[object] = []
        self._turn: object = None

    def step(self, action: Callable[[], Any]) -> Any:
        """Wait for a turn, and use it."""
        token = object()
        with self._changed:
            self._waiting.append(token)
            self._choose()
            self._changed.wait_for(lambda: self._turn is token)
            result = action()
            self._turn = None
            self._choose()
            return result

    def leave(self) -> None:
        with self._changed:
            self._n_alive -= 1
            self._choose()

    def _choose(self) -> None:
        # Only when all have come, so that the order is the schedule's and not the system's.
        if self._turn is None and self._waiting and len(self._waiting) == self._n_alive:
            self._turn = self._waiting.pop(self._random.randrange(len(self._waiting)))
        self._changed.notify_all()


def run(seed: int, candidates: list[NDArray[np.float64]]) -> list[Worker]:
    """Let workers reserve points, each with a ranking of its own."""
    workers = [Worker(number) for number in range(len(candidates))]
    schedule = Schedule(seed, len(workers))

    def work(me: Worker, ranked: NDArray[np.float64]) -> None:
        def others() -> list[tuple[Any, NDArray[np.float64]]]:
            def look() -> list[tuple[Any, NDArray[np.float64]]]:
                return [(w, w.point) for w in workers if w is not me and w.point is not None]

            return list(schedule.step(look))

        def claim(point: NDArray[np.float64]) -> None:
            me.n_claims += 1
            schedule.step(lambda: setattr(me, "point", point))

        me.result = reserve(ranked, me, Reader, others, claim)  # type: ignore[arg-type]
        if me.result is not None:
            schedule.step(lambda: setattr(me, "params", {"x": 0}))
        schedule.leave()

    threads = [
        threading.Thread(target=work, args=pair, daemon=True)
        for pair in zip(workers, candidates, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)
        assert not thread.is_alive(), "somebody waits for ever"
    return workers


def points(*numbers: int) -> NDArray[np.float64]:
    return np.array(numbers, dtype=float)[:, None]


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32), n_workers=st.integers(2, 6), n_points=st.integers(1, 12))
def test_no_two_keep_the_same_point(seed: int, n_workers: int, n_points: int) -> None:
    same = points(*range(n_points))
    workers = run(seed, [same] * n_workers)
    kept = [float(worker.result[0]) for worker in workers if worker.result is not None]
    assert len(set(kept)) == len(kept)
    assert all(worker.n_claims <= MOST_RESERVATIONS for worker in workers)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32), n_workers=st.integers(2, 6))
def test_with_candidates_enough_everybody_gets_one(seed: int, n_workers: int) -> None:
    """Twice as many as workers, and one less, as in Attiya et al. (1990)."""
    same = points(*range(2 * n_workers - 1))
    workers = run(seed, [same] * n_workers)
    assert all(worker.result is not None for worker in workers)


def test_alone_the_best_is_taken_with_one_claim() -> None:
    (worker,) = run(0, [points(7, 8, 9)])
    assert worker.result == 7.0 and worker.n_claims == 1


def test_what_others_hold_is_not_even_claimed() -> None:
    claimed: list[float] = []
    busy = [(Worker(0), np.array([7.0])), (Worker(5), np.array([8.0]))]
    result = reserve(
        points(7, 8, 9),
        Worker(3),  # type: ignore[arg-type]
        Reader,  # type: ignore[arg-type]
        lambda: busy,  # type: ignore[arg-type,return-value]
        lambda point: claimed.append(float(point[0])),
    )
    assert result == 9.0 and claimed == [9.0]


def test_nothing_is_claimed_where_nothing_is_free() -> None:
    claimed: list[float] = []
    busy = [(Worker(0), np.array([7.0]))]
    result = reserve(
        points(7),
        Worker(3),  # type: ignore[arg-type]
        Reader,  # type: ignore[arg-type]
        lambda: busy,  # type: ignore[arg-type,return-value]
        lambda point: claimed.append(float(point[0])),
    )
    assert result is None and not claimed


def test_who_meets_others_goes_to_its_own_rank_among_those_that_still_choose() -> None:
    """Two with lower numbers still choose, one has decided, one comes later."""
    claimed: list[float] = []
    rivals = [Worker(0), Worker(1, params={"x": 0}), Worker(2), Worker(9)]

    def others() -> list[tuple[Any, NDArray[np.float64]]]:
        return [(rival, np.array([7.0])) for rival in rivals] if claimed == [7.0] else []

    result = reserve(
        points(7, 8, 9, 10, 11),
        Worker(3),  # type: ignore[arg-type]
        Reader,  # type: ignore[arg-type]
        others,  # type: ignore[arg-type]
        lambda point: claimed.append(float(point[0])),
    )
    assert claimed == [7.0, 10.0] and result == 10.0
