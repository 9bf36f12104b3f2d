"""Check what a release would upload: build it, look into it, install it and run it.

    python tests/release [base] [ax]

``base`` installs the wheel alone and then with its extra ``plot``; ``ax`` installs it with PyTorch
and Ax (a gigabyte). Both run examples in a folder of their own, so that nothing of the checkout is
imported. By default both are done. Everything lies in build/release.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "release"
DIST = FOLDER / "dist"
LARGEST = 1_000_000  # bytes of a wheel
RELATIVE = re.compile(r"\]\((?!https?://|#|mailto:)[^)]*\)")

SHORT = ["--trials", "14"]
BASE_SNIPPET = """
import sys
import optuna
from heat_plugins import HeatSampler

def objective(trial):
    return (trial.suggest_categorical("c", "abc") != "b") + trial.suggest_float("x", 0, 1)

study = optuna.create_study(sampler=HeatSampler(seed=1, n_startup_trials=4))
study.optimize(objective, n_trials=8)
assert "torch" not in sys.modules
"""


def main() -> None:
    """Check what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="base | ax")
    parts = parser.parse_args().parts or ["base", "ax"]
    wheel = build()
    check_wheel(wheel)
    check_sdist(next(DIST.glob("*.tar.gz")))
    if "base" in parts:
        check_base(wheel)
    if "ax" in parts:
        check_ax(wheel)
    print("\nthe release is as it should be")


def build() -> Path:
    """Build both distributions, and let twine judge their metadata."""
    heading("Build")
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT))
    files = sorted(DIST.iterdir())
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, files))
    for file in files:
        print(f"{file.name}: {file.stat().st_size / 1e6:.2f} MB")
    (wheel,) = DIST.glob("*.whl")
    return wheel


def check_wheel(wheel: Path) -> None:
    """See that a wheel has the package, its types and its licence, and nothing else."""
    heading("Contents of the wheel")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        info = next(name.partition("/")[0] for name in names if ".dist-info/" in name)
        metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
    strange = [
        name
        for name in names
        if not name.startswith(f"{info}/")
        and not (name.startswith("heat_plugins/") and name.endswith((".py", "/py.typed")))
    ]
    require(not strange, f"does not belong into a wheel: {strange}")
    for name in ("heat_plugins/py.typed", f"{info}/licenses/LICENSE"):
        require(name in names, f"the wheel has no {name}")
    require(wheel.stat().st_size < LARGEST, f"the wheel is larger than {LARGEST} bytes")
    relative = RELATIVE.findall(str(metadata.get_payload()))
    require(not relative, f"the description has links that lead nowhere: {relative[:5]}")
    version = (ROOT / "heat_plugins" / "_version.py").read_text()
    require(f'"{metadata["Version"]}"' in version, "the version is another one")
    print(f"{len(names)} files, version {metadata['Version']}")


def check_sdist(sdist: Path) -> None:
    """See that a source distribution has what its tests and its documentation need."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in (
        "CITATION.cff",
        "LICENSE",
        "Makefile",
        "README.md",
        "constraints.txt",
        "docs/index.md",
        "examples/quickstart.py",
        "mkdocs.yml",
        "tests/test_documents.py",
        "website/pages.py",
    ):
        require(name in names, f"the source distribution has no {name}")


def check_base(wheel: Path) -> None:
    """Install the wheel alone, then with pictures; run a study and the quickstart."""
    heading("Without extras")
    python = environment("base")
    install(python, str(wheel))
    absent(python, "torch", "matplotlib", "ax")
    outside(python, "-c", BASE_SNIPPET)
    finish(python)
    heading("With the extra 'plot'")
    install(python, f"{wheel}[plot]")
    absent(python, "torch", "ax")
    example(python, "quickstart", *SHORT, "--repeats", "1", "--output", "picture.png")
    example(python, "graph_of_choices", *SHORT, "--repeats", "1", "--output", "picture.png")
    finish(python)


def check_ax(wheel: Path) -> None:
    """Install the wheel with Ax, PyTorch first and by itself as in the Makefile."""
    heading("With the extra 'ax'")
    python = environment("ax")
    install(python, "torch")
    install(python, f"{wheel}[ax]")
    pinned = re.search(r"^torch==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert pinned is not None
    outside(
        python,
        "-c",
        f"import torch; assert torch.__version__.partition('+')[0] == {pinned[1]!r}",
    )
    for name in ("ax_quickstart", "ax_batch", "botorch_loop"):
        example(python, name, *SHORT)
    finish(python)


def environment(name: str) -> Path:
    """Return the Python of a new, empty environment."""
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "venv", str(folder))
    return folder / "bin" / "python"


def install(python: Path, *what: str) -> None:
    """Install with the tested versions."""
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    run(*pip, "-c", str(ROOT / "constraints.txt"), *what)


def example(python: Path, name: str, *arguments: str) -> None:
    """Run an example of the checkout with the installed package."""
    outside(python, str(ROOT / "examples" / f"{name}.py"), *arguments)


def absent(python: Path, *modules: str) -> None:
    """See that modules are not installed."""
    code = f"import importlib.util as u; print([m for m in {modules!r} if u.find_spec(m)])"
    found = outside(python, "-c", code).strip()
    require(found == "[]", f"installed without being asked for: {found}")


def finish(python: Path) -> None:
    """Let pip look for contradictions, and print what the environment takes."""
    print(outside(python, "-m", "pip", "check").strip())
    code = "import heat_plugins; print(heat_plugins.__file__)"
    where = Path(outside(python, "-c", code).strip())
    require(python.parents[1] in where.parents, f"not the installed package: {where}")
    packages = where.parents[1]
    size = sum(path.stat().st_size for path in packages.rglob("*") if path.is_file())
    print(f"the environment takes {size / 1e6:.0f} MB")


def outside(python: Path, *arguments: str) -> str:
    """Run Python in an empty folder, without what the shell says about its path."""
    names = os.environ.keys() - {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    with tempfile.TemporaryDirectory() as folder:
        return run(
            str(python),
            *arguments,
            cwd=folder,
            env={name: os.environ[name] for name in names} | {"OMP_NUM_THREADS": "1"},
        )


def run(*command: str, cwd: str | None = None, env: dict[str, str] | None = None) -> str:
    """Run a command and return what it printed; what fails ends the check."""
    shown = " ".join(command).replace(f"{ROOT}/", "").partition("\n")[0]
    print(f"$ {shown}", flush=True)
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    require(done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-5000:]}")
    return done.stdout


def require(holds: bool, what: str) -> None:
    """End the check with a message unless something holds."""
    if not holds:
        sys.exit(f"error: {what}")


def heading(text: str) -> None:
    """Print what comes next."""
    print(f"\n==== {text} ====", flush=True)


if __name__ == "__main__":
    main()
