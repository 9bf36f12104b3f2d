"""Notices to the user of a sampler, each given once."""

from __future__ import annotations

from collections.abc import Sequence

import optuna
from optuna.trial import FrozenTrial

from heat_plugins.gp.fit import CLEAR_EVIDENCE, KernelFit
from heat_plugins.space import Space
from heat_plugins.spec.model import Model
from heat_plugins.suggest import Suggestion

__all__ = ["Notices"]

# Below Optuna's own root, so that optuna.logging.set_verbosity and its handlers apply.
_logger = optuna.logging.get_logger("optuna.heat_plugins")


class Notices:
    """Remembers what has been said."""

    def __init__(self) -> None:
        self._said: set[tuple[str, str]] = set()
        self._combination = ""

    def forget_study(self) -> None:
        """Begin with another study: what was said of parameters stays said."""
        of_studies = ("exhausted", "parameters left out", "constraints left out")
        self._said = {said for said in self._said if said[0] not in of_studies}
        self._combination = ""

    def _is_first(self, subject: str, name: str = "") -> bool:
        if (subject, name) in self._said:
            return False
        self._said.add((subject, name))
        return True

    def independent(self, name: str, trial: FrozenTrial) -> None:
        """Warn of a parameter that the model does not choose."""
        if self._is_first("independent", name):
            _logger.warning(
                f"The parameter '{name}' in trial#{trial.number} is sampled independently, "
                "not by the model of `HeatSampler`: the value that the model chose, if any, is "
                "not in the distribution that was asked for. This is said once for each "
                "parameter; set `warn_independent_sampling=False` to silence it."
            )

    def suggestion(
        self,
        model: Model,
        trials: Sequence[FrozenTrial],
        space: Space,
        suggestion: Suggestion,
    ) -> None:
        """Say what is remarkable about a suggestion, made by a model in a space."""
        named = set(model.named)
        self.unknown_names(named, trials)
        of_graphs = {name for graph in model.labelled_graphs for name in graph.names}
        self.values_without_graph(of_graphs - {*space.names}, trials)
        self.conditional_names(named & {space.names[column] for column in suggestion.optional})
        self.combination(suggestion.kernel_fit)
        if suggestion.leaves_out_constraints:
            self.constraints_left_out()

    def unknown_names(self, named: set[str], trials: Sequence[FrozenTrial]) -> None:
        """Warn of parameters that the model names and no trial has."""
        named = {name for name in named if ("unknown", name) not in self._said}
        if not named:
            return
        known = {name for trial in trials for name in dict(trial.distributions)}
        for name in sorted(named - known):
            self._is_first("unknown", name)
            _logger.warning(
                f"The parameter '{name}' is named in `structure`, `graphs`, `order` or "
                f"`quantitative`, but no trial has it; the parameters so far are {sorted(known)}."
            )

    def values_without_graph(self, names: set[str], trials: Sequence[FrozenTrial]) -> None:
        """Warn of parameters with one value, which make their labelled graph have no effect."""
        if not names:
            return
        known = {name for trial in trials for name in dict(trial.distributions)}
        for name in sorted(names & known):
            if self._is_first("lone value", name):
                _logger.warning(
                    f"The LabelledGraph of '{name}' has no effect, because that parameter has one "
                    "value only. Write True instead of its name for an edge that is always there."
                )

    def conditional_names(self, names: set[str]) -> None:
        """Warn of structure that parameters cannot have which do not always exist."""
        for name in sorted(names):
            if self._is_first("conditional", name):
                _logger.warning(
                    f"What `structure`, `graphs`, `order` or `quantitative` say of the parameter "
                    f"'{name}' has no effect, because not every trial has it."
                )

    def parameters_left_out(self, names: Sequence[str]) -> None:
        """Warn that there are too many parameters to model all of them."""
        if names and self._is_first("parameters left out"):
            _logger.warning(
                f"`HeatSampler` does not model {len(names)} parameters, for instance "
                f"'{names[0]}': there are very many, and these are in the fewest trials. They "
                "are sampled independently."
            )

    def constraints_left_out(self) -> None:
        """Warn that there are constraints that are not modelled."""
        if self._is_first("constraints left out"):
            _logger.warning(
                "`HeatSampler` does not model all constraints that trials break: some are known "
                "for too few trials, or there are very many and others are broken more often. "
                "Trials that break them still count as infeasible."
            )

    def missing_in_rule(self, name: str) -> None:
        """Warn that the user's rule looks for a parameter that a point does not have."""
        if self._is_first("rule", name):
            _logger.warning(
                f"`is_feasible` raised KeyError({name}) where that parameter does not exist or "
                "has not been asked for yet; such points are taken to be feasible."
            )

    def not_earlier(self, name: str) -> None:
        """Warn that a study was told to go on from itself."""
        if self._is_first("itself", name):
            _logger.warning(
                f"`previous` names the study '{name}', which is the one that is running; its "
                "trials count anyway."
            )

    def other_objectives(self, name: str, n_there: int, n_here: int) -> None:
        """Warn that an earlier study has not as many objectives."""
        if self._is_first("objectives", name):
            _logger.warning(
                f"The earlier study '{name}' is left out, because it has {n_there} objectives "
                f"and this one {n_here}."
            )

    def of_another_kind(self, parameter: str, name: str) -> None:
        """Warn that a parameter was a number and is a choice, or the other way round."""
        if self._is_first(f"kind of {parameter}", name):
            _logger.warning(
                f"The parameter '{parameter}' of the earlier study '{name}' is left out, because "
                "it is a choice in one of the studies and a number in the other."
            )

    def nothing_in_common(self, name: str) -> None:
        """Warn that no trial of an earlier study has a place in the search space."""
        if self._is_first("nothing in common", name):
            _logger.warning(
                f"No trial of the earlier study '{name}' has values that the present search "
                "space has; it is not used."
            )

    def combination(self, kernel_fit: KernelFit | None) -> None:
        """Tell which structure the evidence chose, whenever that changes."""
        if kernel_fit is None or not kernel_fit.evidence or kernel_fit.name == self._combination:
            return
        self._combination = kernel_fit.name
        evidence = ", ".join(f"{name} {value:.1f}" for name, value in kernel_fit.evidence.items())
        _logger.info(
            f"`HeatSampler` models the parameters with the structure '{kernel_fit.name}' (log "
            f"evidence: {evidence}; '{kernel_fit.preferred}' unless another is ahead by more than "
            f"{CLEAR_EVIDENCE:g})."
        )

    def exhausted(self, consequence: str) -> None:
        """Warn that nothing new is left."""
        if self._is_first("exhausted"):
            _logger.warning(f"Every point of the search space has been tried: {consequence}.")
