"""Runs programs in forks of a process that has imported what they need.

To import Ax takes longer than the short form of an example that uses it. Arguments are the names
of modules; each line of the input is a job, and is answered with the exit code of its fork.
"""

import importlib
import json
import os
import runpy
import signal
import sys

LONGEST = 300  # seconds


def run(job: dict[str, str], arguments: list[str]) -> None:
    """Become a program whose output goes to files, as if it had just been started."""
    signal.alarm(LONGEST)
    os.chdir(job["folder"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(job[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.argv[:] = [job["program"], *arguments]
    sys.path[0] = os.path.dirname(job["program"])
    runpy.run_path(job["program"], run_name="__main__")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        importlib.import_module(name)
    for line in iter(sys.stdin.readline, ""):
        job = json.loads(line)
        arguments = job.pop("arguments")
        child = os.fork()
        if not child:
            run(job, arguments)
            break  # and end, as the program would
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
