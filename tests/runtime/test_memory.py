"""Memory that will be needed again in a moment is kept."""

import os
import platform
import subprocess
import sys

import pytest

from heat_plugins.runtime.memory import keep_freed_memory

# How many pages a process fetches while it makes and drops arrays of a megabyte, as a step does.
PROGRAM = """
import resource
import numpy as np
from heat_plugins.runtime.memory import keep_freed_memory

def pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        [np.ones(2**17) for _ in range(10)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

without = pages()
keep_freed_memory()
pages()
print(without, pages())
"""


def test_it_can_be_called_again_and_again():
    keep_freed_memory()
    done = keep_freed_memory.cache_info().misses
    keep_freed_memory()
    assert keep_freed_memory.cache_info().misses == done == 1


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries take no notice")
def test_arrays_are_made_from_memory_that_is_there():
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={name: value for name, value in os.environ.items() if "MALLOC" not in name},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    without, kept = map(int, run.stdout.split())
    assert kept < without / 20
