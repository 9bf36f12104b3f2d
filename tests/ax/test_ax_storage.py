"""Stored experiments go on in another process as if nothing had happened."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ax.api.client import Client
from ax.api.configs import StorageConfig
from ax.exceptions.core import UserInputError
from ax.storage.json_store.registry import CORE_DECODER_REGISTRY
from ax.storage.sqa_store import db

from heat_plugins import Additive, PermutationInvariant, register_kernel
from heat_plugins.ax import HeatGenerators, heat_generation_strategy
from heat_plugins.ax.node import HeatNode
from heat_plugins.spec import registry

Params = dict[str, Any]
HERE = Path(__file__).parent
STORED = HERE / "data" / "experiment-v1.json"
EXPECTED = HERE / "data" / "experiment-v1-next.json"
# Without it Ax cannot write to databases, though it does not ask for it.
HAS_TABULATE = find_spec("tabulate") is not None
needs_tabulate = pytest.mark.skipif(not HAS_TABULATE, reason="tabulate is not installed")
N_TRIALS = [0, 3, 8]  # none, at start-up, with a model

STRUCTURED: dict[str, Any] = {
    "structure": [PermutationInvariant(["c", "d"]), Additive()],
    "graphs": {"e": "cycle"},
    "quantitative": {"k": "log"},
    "deterministic_objective": True,
}


def value_of(params: Params) -> float:
    letters = "abcd"
    value = letters.index(params["c"]) * letters.index(params["d"]) + params["x"]
    return value + (params["e"] != "b") + params["k"] / 8


@pytest.fixture(scope="module")
def space(choice: Any, number: Any) -> list[Any]:
    return [
        choice("c", "abcd"),
        choice("d", "abcd"),
        choice("e", "abcd"),
        choice("k", [1, 2, 8]),
        number("x", 0.001, 1.0, scaling="log"),
        number("n", 1, 9),
    ]


def new_client(space: list[Any], storage: StorageConfig | None = None, **settings: Any) -> Client:
    client = Client(storage_config=storage)
    client.configure_experiment(parameters=space, name="stored")
    client.configure_optimization(objective="-y")
    client.set_generation_strategy(
        heat_generation_strategy(seed=5, n_startup_trials=5, **settings)
    )
    return client


def ask_elsewhere(places: list[str]) -> list[list[Any]]:
    """Return the next trial of each stored client, from another process."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "load_and_ask.py"), *places],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[list[Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def assert_close(found: Params, expected: Params, rel: float = 1e-4) -> None:
    """Compare parameters: Ax stores values with ten digits, so that numbers are not the same."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == (pytest.approx(value, rel=rel) if type(value) is float else value)


def ask(client: Client) -> list[Any]:
    return [list(item) for item in client.get_next_trials(1).items()]


@pytest.fixture(scope="module")
def _own_engine() -> Iterator[None]:
    """Databases are for the tests of this module only: Ax keeps one for the whole process."""
    yield
    if db.SESSION_FACTORY is not None:
        db.get_engine().dispose()
    db.SESSION_FACTORY = None


@pytest.fixture(scope="module")
def cases(
    space: list[Any], run: Any, tmp_path_factory: pytest.TempPathFactory, _own_engine: None
) -> dict[str, tuple[list[Any], list[Any]]]:
    """By name: the suggestion that would have come, and the one that came after loading."""
    folder = tmp_path_factory.mktemp("stored")
    places: dict[str, str] = {}
    expected: dict[str, list[Any]] = {}
    for name, settings in (("plain", {}), ("structured", STRUCTURED)):
        for n in N_TRIALS:
            client = new_client(space, **settings)
            run(client, value_of, n)
            places[f"json {name} {n}"] = path = str(folder / f"{name}-{n}.json")
            client.save_to_json_file(path)
            expected[f"json {name} {n}"] = ask(client)
    if HAS_TABULATE:
        for n, url in databases(folder, space, run).items():
            places[f"sql structured {n}"] = url
            expected[f"sql structured {n}"] = expected[f"json structured {n}"]
    found = ask_elsewhere(list(places.values()))
    return {name: (expected[name], found[k]) for k, name in enumerate(places)}


def databases(folder: Path, space: list[Any], run: Any) -> dict[int, str]:
    """Return a database with each number of trials."""
    path = str(folder / "live.db")
    url = f"sqlite:///{path}"
    db.init_engine_and_session_factory(url=url, force_init=True)
    db.create_all_tables(db.get_engine())
    client = new_client(space, StorageConfig(url=url), **STRUCTURED)
    urls = {}
    for n in N_TRIALS:
        run(client, value_of, n - len(client._experiment.trials))
        urls[n] = f"sqlite:///{shutil.copy(path, folder / f'{n}.db')}"
    return urls


@pytest.mark.parametrize("n", N_TRIALS)
@pytest.mark.parametrize(
    "kind",
    ["json plain", "json structured", pytest.param("sql structured", marks=needs_tabulate)],
)
def test_the_next_suggestion_is_the_one_that_would_have_come(
    cases: dict[str, tuple[list[Any], list[Any]]], kind: str, n: int
) -> None:
    ((index, params),), ((found_index, found_params),) = cases[f"{kind} {n}"]
    assert found_index == index
    assert_close(found_params, params)


def test_settings_survive(space: list[Any], tmp_path: Path) -> None:
    client = new_client(space, max_parallelism=3, trust_region=False, **STRUCTURED)
    client.save_to_json_file(str(tmp_path / "client.json"))
    loaded = Client.load_from_json_file(str(tmp_path / "client.json"))
    nodes, others = client._generation_strategy._nodes, loaded._generation_strategy._nodes
    for node, other in zip(nodes, others, strict=True):
        (spec,), (other_spec,) = node.generator_specs, other.generator_specs
        assert spec.generator_kwargs == other_spec.generator_kwargs
        assert spec.generator_enum is other_spec.generator_enum
        assert node.name == other.name
        assert node.pausing_criteria == other.pausing_criteria
        assert node.transition_criteria == other.transition_criteria
        assert node.should_deduplicate == other.should_deduplicate
        assert node.fallback_specs == other.fallback_specs == {}
        assert node.input_constructors == other.input_constructors
    assert len(loaded.get_next_trials(5)) == 3


@needs_tabulate
@pytest.mark.filterwarnings("ignore:TypeDecorator JSONEncodedText")  # a type of Ax
def test_no_fallback_comes_out_of_a_database(space: list[Any], tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'nodes.db'}"
    before = db.SESSION_FACTORY
    db.init_engine_and_session_factory(url=url, force_init=True)
    try:
        db.create_all_tables(db.get_engine())
        client = new_client(space, StorageConfig(url=url))
        client.get_next_trials(1)
        loaded = Client.load_from_database("stored", StorageConfig(url=url))
        for node in loaded._generation_strategy._nodes:
            assert type(node) is HeatNode and node.fallback_specs == {}
    finally:
        db.get_engine().dispose()
        db.SESSION_FACTORY = before


def test_a_seed_that_was_drawn_is_stored(space: list[Any], tmp_path: Path) -> None:
    client = Client()
    client.configure_experiment(parameters=space)
    client.configure_optimization(objective="-y")
    client.set_generation_strategy(heat_generation_strategy())
    client.save_to_json_file(str(tmp_path / "client.json"))
    loaded = Client.load_from_json_file(str(tmp_path / "client.json"))
    assert ask(loaded) == ask(client)


def test_the_import_registers_what_is_stored() -> None:
    assert CORE_DECODER_REGISTRY["HeatGenerators"] is HeatGenerators
    assert HeatGenerators("Heat") is HeatGenerators.HEAT
    assert HeatGenerators("HeatStart") is HeatGenerators.START


def test_an_experiment_of_the_first_version_goes_on() -> None:
    """Names and settings in stored files never change; suggestions do with the model only."""
    client = Client.load_from_json_file(str(STORED))
    assert len(client._experiment.trials) == 12
    ((index, params),) = client.get_next_trials(1).items()
    expected = json.loads(EXPECTED.read_text())
    assert index == expected["index"]
    assert_close(params, expected["params"], rel=1e-3)


def test_predictions_after_loading(run: Any) -> None:
    client = Client.load_from_json_file(str(STORED))
    run(client, value_of, 1)
    params = dict(client._experiment.trials[0].arm.parameters)
    assert client.predict([params])[0]["y"][0] == pytest.approx(value_of(params), abs=2.0)


# ------------------------------------------------------------------ kernels that are functions


def exponential(r: Any) -> Any:
    return np.exp(-r)


@pytest.fixture
def _registered() -> Iterator[None]:
    before = dict(registry._REGISTERED)
    register_kernel("exponential", exponential)
    yield
    registry._REGISTERED.clear()
    registry._REGISTERED.update(before)


@pytest.mark.usefixtures("_registered")
@pytest.mark.parametrize("kernel", ["exponential", exponential])
def test_a_registered_kernel_is_stored_by_its_name(
    space: list[Any], run: Any, tmp_path: Path, kernel: Any
) -> None:
    client = new_client(space, kernel=kernel)
    run(client, value_of, 6)
    path = tmp_path / "client.json"
    client.save_to_json_file(str(path))
    assert '\\"kernel\\": \\"exponential\\"' in path.read_text()
    loaded = Client.load_from_json_file(str(path))
    ((index, params),), ((found_index, found),) = ask(client), ask(loaded)
    assert found_index == index
    assert_close(found, params)


@pytest.mark.usefixtures("_registered")
def test_a_stored_experiment_cannot_name_what_is_imported(
    space: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bait_of_ax.py").write_text("import numpy as np\nkernel = np.sinc\n")
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "client.json"
    new_client(space, kernel="exponential").save_to_json_file(str(path))
    path.write_text(path.read_text().replace("exponential", "bait_of_ax:kernel"))
    loaded = Client.load_from_json_file(str(path))
    with pytest.raises(UserInputError, match=r"register_kernel.* got 'bait_of_ax:kernel'"):
        loaded.get_next_trials(1)
    assert "bait_of_ax" not in sys.modules
