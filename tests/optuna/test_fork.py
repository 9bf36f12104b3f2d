"""Processes that are forked, and what is renewed in them."""

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from heat_plugins import HeatSampler
from heat_plugins.runtime import forks

PROGRAM = Path(__file__).with_name("fork_while_suggesting.py")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_forked_during_a_suggestion_goes_on() -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", str(PROGRAM)],
        capture_output=True,
        text=True,
        timeout=200,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_samplers_that_nobody_needs_are_forgotten() -> None:
    sampler = HeatSampler(seed=0)
    found = weakref.ref(sampler)
    assert sampler in forks._owners
    del sampler
    gc.collect()
    assert found() is None


def test_locks_are_new_in_a_child_but_not_what_trials_were_given() -> None:
    sampler = HeatSampler(seed=0)
    sampler._asked[3] = {"x": 1}
    lock = sampler._lock
    sampler.after_fork()
    assert sampler._lock is not lock
    assert sampler._asked == {3: {"x": 1}}
