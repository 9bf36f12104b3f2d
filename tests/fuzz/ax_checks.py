"""What must be true of every experiment, whatever happens in it."""

from ax_case import AxCase
from ax_run import ArmEvent, AxRun, run_ax
from ax_space import Params
from watch import MOST_SECONDS

__all__ = ["check_ax"]

MOST_POINTS = 300  # of a space that is listed, to tell whether there are others left


def check_ax(case: AxCase) -> list[str]:
    """Run the experiment of a case; return what is wrong with it."""
    first = run_ax(case)
    wrong = [*_troubles(first), *_wrong_values(case, first), *_repeats(case, first)]
    if not first.error:
        second = run_ax(case)
        wrong += _troubles(second) or _differences(first, second)
    return wrong


def _troubles(result: AxRun) -> list[str]:
    wrong = [f"exception: {result.error}"] if result.error else []
    wrong += [f"warning: {text}" for text in sorted(set(result.report.warnings))]
    if result.report.slowest > MOST_SECONDS:
        wrong.append(f"slow: {result.report.slowest:.1f} s of CPU for one call")
    return wrong


def _differences(first: AxRun, second: AxRun) -> list[str]:
    for position, (left, right) in enumerate(zip(first.events, second.events, strict=False)):
        if repr(left.params) != repr(right.params):
            return [
                f"difference: arm {position} was {left.params}, in the second run {right.params}"
            ]
    if len(first.events) != len(second.events):
        return [f"difference: {len(first.events)} arms, then {len(second.events)}"]
    return []


def _wrong_values(case: AxCase, result: AxRun) -> list[str]:
    wrong = []
    for number, event in enumerate(result.events):
        if event.is_generated:
            wrong += [f"value: arm {number} {w}" for w in case.space.wrong_values(event.params)]
            if not event.params.items() >= event.fixed.items():
                wrong.append(f"value: arm {number} is {event.params}, not {event.fixed}")
    return wrong


def _repeats(case: AxCase, result: AxRun) -> list[str]:
    """Return arms that are repeated although there are others."""
    unseen = case.space.points(MOST_POINTS)
    known: list[ArmEvent] = []
    wrong = []
    for number, event in enumerate(result.events):
        twins = [other for other in known if _same(case, event.params, other.params)]
        left = unseen is None or any(p.items() >= event.fixed.items() for p in unseen)
        if twins and event.is_generated and left and _leaves_room(case, event.params, event.fixed):
            wrong.append(f"repeat: arm {number} was there before, {event.params}")
        known.append(event)
        if unseen is not None:
            unseen = [point for point in unseen if not _same(case, point, event.params)]
    if result.is_over and not case.settings["deterministic_objective"]:
        wrong.append("stop: the experiment ended, though its objective is noisy")
    if unseen is not None:
        unseen = [point for point in unseen if point.items() >= result.fixed.items()]
    has_room = _leaves_room(case, result.fixed, result.fixed)
    if result.is_over and has_room and (unseen is None or len(unseen) >= result.n_wanted):
        wrong.append(f"stop: the experiment ended with {unseen} not tried")
    return wrong


def _leaves_room(case: AxCase, params: Params, fixed: Params) -> bool:
    """Whether something could still be chosen in an arm beside the values that were given."""
    there = case.space.active(params)
    return any(p.name not in fixed for p in case.space.tunable if p.name in there)


def _same(case: AxCase, left: Params, right: Params) -> bool:
    return case.space.same(_arranged(case, left), _arranged(case, right))


def _arranged(case: AxCase, params: Params) -> Params:
    """Return parameters that can change places in the order of their values."""
    params = dict(params)
    for names in case.groups:
        params |= dict(zip(names, sorted(params[name] for name in names), strict=True))
    return params
