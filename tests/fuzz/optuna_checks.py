"""What must be true of every study, whatever happens in it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from optuna.distributions import CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState
from optuna_case import OptunaCase, foreign_trial
from optuna_run import Event, Run, run
from optuna_space import Parameter, is_value_of, position_of
from watch import MOST_SECONDS, same_number

from heat_plugins.optuna.distributions import is_same_kind

__all__ = ["check"]

MOST_POINTS = 400  # of a space that is listed, to tell whether there are others left


def check(case: OptunaCase) -> list[str]:
    """Run the study of a case; return what is wrong with it."""
    first = run(case)
    done = replace(case, steps=tuple(step for step in case.steps if step not in first.left_out))
    wrong = [*_troubles(first), *_wrong_values(done, first), *_repeats(done, first)]
    wrong += _refused_values(done, first)
    if not first.error and _can_be_repeated(case):
        second = run(case, resume_always=_can_be_resumed(case))
        wrong += _troubles(second) or _differences(first, second)
    return wrong


def _can_be_repeated(case: OptunaCase) -> bool:
    # Threads come in any order, and Optuna gives them new seeds.
    return case.n_jobs == 1


def _can_be_resumed(case: OptunaCase) -> bool:
    """Whether a new sampler must go on as the old one would have."""
    # Another sampler has a state of its own. Tuples come back as lists from a storage, so a
    # new sampler has to be told of them again. What the objective asks for it cannot know
    # before, where trials contradict each other or a parameter has changed its kind.
    return (
        case.settings.independent is None
        and case.pruner != "hyperband"  # which forms its brackets anew
        and not _has_containers(case)
        and not _are_contradicted(case)
        and not any(_changes_kind(parameter) for parameter in case.space.parameters)
    )


def _changes_kind(parameter: Parameter) -> bool:
    """Whether the objective asks for a parameter in a form that Optuna takes for another one."""
    first, *later = (distribution for _, distribution in parameter.stages)
    return not all(is_same_kind(first, distribution) for distribution in later)


def _has_containers(case: OptunaCase) -> bool:
    """Whether some choice is a tuple, a list or a dictionary."""
    return any(
        isinstance(choice, (tuple, list, dict))
        for parameter in case.space.parameters
        for _, distribution in parameter.stages
        if isinstance(distribution, CategoricalDistribution)
        for choice in distribution.choices
    )


def _are_contradicted(case: OptunaCase) -> bool:
    """Whether trials from elsewhere have parameters with other choices or ranges."""
    return any(_is_other(case, trial) for trial in _foreign_trials(case))


def _is_other(case: OptunaCase, trial: FrozenTrial) -> bool:
    own = {parameter.name: parameter.first for parameter in case.space.parameters}
    return any(own.get(name, dist) != dist for name, dist in trial.distributions.items())


def _troubles(result: Run) -> list[str]:
    wrong = [f"exception: {result.error}"] if result.error else []
    wrong += [f"warning: {text}" for text in sorted(set(result.report.warnings))]
    if result.report.slowest > MOST_SECONDS:
        wrong.append(f"slow: {result.report.slowest:.1f} s of CPU for one call of the sampler")
    return wrong


def _differences(first: Run, second: Run) -> list[str]:
    for position, (left, right) in enumerate(zip(first.events, second.events, strict=False)):
        if repr(left.params) != repr(right.params):
            return [
                f"difference: event {position} (trial {left.number}) was {left.params}, "
                f"in the second run {right.params}"
            ]
    if len(first.events) != len(second.events):
        return [f"difference: {len(first.events)} events, then {len(second.events)}"]
    return []


def _wrong_values(case: OptunaCase, result: Run) -> list[str]:
    wrong = []
    for event in result.events:
        if not event.is_free:
            continue
        for name, value in event.params.items():
            distribution = case.space.by_name(name).at(event.number)
            if not is_value_of(distribution, value):
                wrong.append(f"value: trial {event.number} got {name}={value!r} of {distribution}")
    rule = case.settings.rule
    if rule is not None and not case.space.is_conditional and case.space.is_static:
        wrong += [
            f"rule: trial {event.number} was given {event.params}, which is_feasible refuses"
            for event in result.events
            if event.is_free and event.is_suggested and _is_refused(rule, event.params)
            if _could_be_kept(case, rule, event)
        ]
    return wrong


def _is_refused(rule: Callable[[dict[str, Any]], bool], params: dict[str, Any]) -> bool:
    try:
        return not rule(params)
    except KeyError:  # the trial ended before it had asked for everything
        return False


def _could_be_kept(case: OptunaCase, rule: Callable[[dict[str, Any]], bool], event: Event) -> bool:
    """Whether some value of what was not chosen with the rest would have kept a rule.

    Parameters that trials from elsewhere lack seem not to exist at some points, and those that
    they have in another form are left to the objective: the last of them may have no way out.
    """
    others = _with_others_drawn_last(case, event)
    return not others or any(not _is_refused(rule, params) for params in others)


def _with_others_drawn_last(case: OptunaCase, event: Event) -> list[dict[str, Any]]:
    """Return the parameters of a trial with each choice of what was drawn last by itself."""
    left = [
        parameter
        for parameter in case.space.parameters
        if parameter.name in event.params and parameter.name not in event.chosen
        if isinstance(parameter.first, CategoricalDistribution)
    ]
    choices = left[-1].first.choices if left else ()  # type: ignore[attr-defined]
    return [event.params | {left[-1].name: choice} for choice in choices]


def _refused_values(case: OptunaCase, result: Run) -> list[str]:
    """Return what the sampler says of values that Optuna did not take, though all is regular."""
    # Which form of a parameter is right shows when the objective asks for it.
    others = [trial for trial in _foreign_trials(case) if _is_other(case, trial)]
    # One that waits becomes a trial of the study, and is refused itself.
    n_waiting = sum(trial.state == TrialState.WAITING for trial in others)
    # To Optuna a tuple is another choice than the list that a storage makes of it.
    is_refused_by_optuna = case.storage != "memory" and _has_containers(case)
    # Threads that ask at the same time are refused together.
    n_lessons = case.n_jobs * (len(others) + n_waiting)
    # Where it takes no value at all, nothing is stored from which a resumed study could learn.
    if result.n_refused > n_lessons and not is_refused_by_optuna and not result.is_blocked:
        return [f"refused: {result.n_refused} trials after {len(others)} contradictory ones"]
    # Threads may learn of parameters while they are asking for them.
    is_regular = case.space.is_static and not case.space.is_conditional and case.n_jobs == 1
    if not is_regular or _are_contradicted(case) or case.settings.independent is not None:
        return []
    return [f"refused: {text}" for text in result.report.logged if "sampled independently" in text]


# ------------------------------------------------------------------------------- repetitions


def _repeats(case: OptunaCase, result: Run) -> list[str]:
    """Return trials that repeat a point although there are others."""
    if not case.space.is_static or not _promises_distinct(case, result):
        return []
    known: list[Event] = []
    wrong = []
    lessons: list[int] = []  # trials of a batch learn at once, all others one by one
    unseen = _all_points(case)
    for event in result.events:
        if not event.params:
            continue  # refused at once
        twins = [other for other in known if _are_same(case, event, other)]
        is_left = unseen is None or len(unseen) > 0
        may_differ = twins and not _has_no_way_out(case, event, known)
        if may_differ and event.is_free and event.is_suggested and is_left:
            lessons.append(-event.number if event.batch is None else event.batch)
            wrong.append(
                f"repeat: trial {event.number} is trial {twins[0].number} again, "
                f"{event.params} ({len(known)} points were known, "
                f"{'many' if unseen is None else len(unseen)} were not)"
            )
        if not twins:
            known.append(event)
        if unseen is not None:
            unseen = [point for point in unseen if not _covers(case, event, point)]
    if len(set(lessons)) <= _lessons(case):
        wrong = []
    if result.is_over and not case.settings.arguments.get("deterministic_objective"):
        wrong.append("stop: the study ended early, though its objective is noisy")
    if result.is_over and unseen != []:
        wrong.append(f"stop: the study ended with {unseen} not tried")
    return wrong


def _has_no_way_out(case: OptunaCase, event: Event, known: list[Event]) -> bool:
    """Whether a rule and earlier trials left no choice to what was drawn last.

    Before the first trial has ended values are drawn one by one, in ignorance of what follows.
    """
    rule, others = case.settings.rule, _with_others_drawn_last(case, event)
    return bool(rule and others) and all(
        _is_refused(rule, params)
        or any(_are_same(case, Event(-1, params), other) for other in known)
        for params in others
    )


def _promises_distinct(case: OptunaCase, result: Run) -> bool:
    """Whether the sampler can know where all trials have been, and what there is."""
    # Hyperband shows the trials of one bracket. A trial from elsewhere that lacks parameters
    # looks like a point. Without any complete trial it is not known which parameters there are.
    names = {parameter.name for parameter in case.space.parameters if not parameter.parent}
    have_all = all(trial.params.keys() >= names for trial in _foreign_trials(case))
    is_known = not case.space.is_conditional or "COMPLETE" in result.states
    # Where a trial from elsewhere is complete, those that end there without a value seem to do so
    # by accident.
    foreign = [trial.state.name for trial in _foreign_trials(case)]
    is_known &= not ("COMPLETE" in foreign and result.states.keys() & {"FAIL", "PRUNED"})
    return case.pruner != "hyperband" and have_all and is_known and not result.is_blocked


def _lessons(case: OptunaCase) -> int:
    """Return how many repetitions it may cost to learn which parameters exist where.

    Two points may differ only in a parameter that then turns out not to be asked for, as
    where trials from elsewhere have more of them. And where such a trial has a parameter in
    another form, what comes next finds out which form is asked for.
    """
    names = {parameter.name for parameter in case.space.parameters}
    n_lessons = sum(bool(parameter.parent) for parameter in case.space.parameters)
    n_lessons += case.behaviour.action == "raise early"
    n_lessons += sum(_is_other(case, trial) for trial in _foreign_trials(case))
    return n_lessons + 2 * sum({*trial.params} != names for trial in _foreign_trials(case))


def _foreign_trials(case: OptunaCase) -> list[FrozenTrial]:
    made = (foreign_trial(case, step.seed) for step in case.steps if step.kind == "add")
    return [trial for trial in made if trial is not None]


def _all_points(case: OptunaCase) -> list[Event] | None:
    """Return the points that differ and may be tried; None where they cannot be listed."""
    points = case.space.points(MOST_POINTS)
    if points is None:
        return None
    rule = case.settings.rule
    different: list[Event] = []
    for point in points:
        event = Event(-1, point)
        if rule is None or rule(point):
            if not any(_are_same(case, event, other) for other in different):
                different.append(event)
    return different


def _covers(case: OptunaCase, event: Event, point: Event) -> bool:
    """Whether a trial was at a point, or failed before it had asked for all of its values."""
    if event.params.keys() == point.params.keys():
        return _are_same(case, event, point)
    is_part = event.params.keys() <= point.params.keys() and event.number >= 0
    return is_part and all(
        _is_same_value(case, name, value, point.params[name])
        for name, value in event.params.items()
    )


def _are_same(case: OptunaCase, left: Event, right: Event) -> bool:
    if left.params.keys() != right.params.keys():
        return False
    first, second = _arranged(case, left.params), _arranged(case, right.params)
    return all(_is_same_value(case, name, first[name], second[name]) for name in first)


def _arranged(case: OptunaCase, params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters that can change places in a certain order of their values."""
    params = dict(params)
    # Not where a parameter is missing in some trial, or has a value that is none of its own.
    for group in () if _are_contradicted(case) else case.settings.groups:
        names = [name for name in group if name in params]
        values = sorted((params[name] for name in names), key=lambda v: (str(type(v)), repr(v)))
        params |= dict(zip(names, values, strict=True))
    return params


def _is_same_value(case: OptunaCase, name: str, left: Any, right: Any) -> bool:
    distribution = case.space.by_name(name).first
    if isinstance(distribution, CategoricalDistribution):
        return position_of(distribution, left) == position_of(distribution, right)
    low, high = distribution.low, distribution.high  # type: ignore[attr-defined]
    log = distribution.log  # type: ignore[attr-defined]
    if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
        return False
    if isinstance(left, int) and isinstance(right, int):
        return float(left) == float(right)  # which is what Optuna stores
    return same_number(left, right, low, high, log)
