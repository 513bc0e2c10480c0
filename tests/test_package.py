"""The repository as people get it: its layout, what is said twice, the targets of make, and the wheel."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import psutil
import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import fwexp
from fwexp.experiments import FIGURES
from fwexp.files.atomic import hidden
from tests.pages import ROOT, command_lines, figure_target
from tools.extras import JOBS

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
MAKEFILE = (ROOT / "Makefile").read_text()

# Where the folders of the checkout lie in an installed package.
INSTALLED_AS = {"fwexp": "fwexp", "conf": "fwexp/conf", "experiments": "fwexp/experiments", "plots": "fwexp/plots"}
FOLDERS = ["fwexp", "benchmarks", "conf", "docs", "experiments", "results", "plots", "tests", "tools"]
FILES = [
    "pyproject.toml",
    "Makefile",
    "README.md",
    "LICENSE",
    "CITATION.cff",
    "CHANGELOG.md",
    "requirements.lock",
    "requirements-dev.lock",
]


def imported_modules(path: Path, anywhere: bool = True) -> set[str]:
    """Return the top-level names that a module imports, anywhere in it or when it is read."""
    tree = ast.parse(path.read_text())
    nodes = list(ast.walk(tree)) if anywhere else tree.body
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0]
    return {name.partition(".")[0] for name in names}


def dry_run(*targets: str) -> subprocess.CompletedProcess:
    """Let make print what it would do for ``targets``; the settings of a make that runs these tests do not count."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "ARGS")}
    command = ["make", "--dry-run", "--always-make", *targets]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)


def test_top_level_is_as_documented():
    assert [name for name in FOLDERS if not (ROOT / name).is_dir()] == []
    assert [name for name in FILES if not (ROOT / name).is_file()] == []
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_version_is_the_same_everywhere():
    version = PYPROJECT["project"]["version"]
    assert fwexp.__version__ == version
    assert re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1] == version
    # The newest heading of the changelog is this version.
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1] == version


def test_license_is_the_same_everywhere():
    assert PYPROJECT["project"]["license"] == "BSD-3-Clause"
    assert (ROOT / "LICENSE").read_text().startswith("BSD 3-Clause License")
    assert "\nlicense: BSD-3-Clause\n" in (ROOT / "CITATION.cff").read_text()


@pytest.mark.parametrize("name", ["runs", "figures", "report", "claims", "peers", "sweep"])
def test_a_checkout_does_not_change_by_what_runs_write(name, tmp_path):
    """Else the provenance of all runs of a sweep says that the code was changed."""
    path = tmp_path / "results" / name
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    shutil.copy(ROOT / ".gitignore", tmp_path)
    command = ["git", "-C", tmp_path, "check-ignore", "--quiet", hidden(path) if name == "sweep" else path / "file"]
    assert subprocess.run(command, check=False).returncode == 0


@pytest.mark.parametrize(
    ("code", "light"),
    [
        ("import fwexp", set()),
        ("import fwexp.data", {"numpy"}),
        ("import fwexp.predictor", {"numpy"}),
        ("import fwexp.experiments; list(fwexp.experiments.FIGURES)", {"numpy"}),
        ("from fwexp.cli import main; main(['--help'])", set()),  # which answers at once
        ("from fwexp.files import code_digest; code_digest.digest(['fwexp'], deferred=True)", set()),  # of sources that are not run
    ],
)
def test_nothing_heavy_is_imported_before_it_is_used(code, light):
    command = [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.splitlines()[-1]
    heavy = {"numpy", "scipy", "numba", "pandas", "sklearn", "matplotlib", "hydra", "omegaconf", "pyarrow", "tqdm"}
    assert heavy & set(loaded.split()) <= light


def test_every_import_is_a_declared_dependency():
    # Ourselves, twice.
    not_needed = {"fwexp", "hydra_plugins", "sklearn", "sqlalchemy"}
    extras = PYPROJECT["project"]["optional-dependencies"]
    needed = PYPROJECT["project"]["dependencies"] + extras["experiments"]  # test_core.py is about those alone
    lists = needed, *(extras[name] for name in ("images", "report", "parallel", "submitit", "estimators", "dask", "optuna"))
    always, images, report, parallel, submitit, estimators, dask, optuna = (
        {canonicalize_name(Requirement(text).name) for text in texts} for texts in lists
    )
    of_folders = {"data": always | images, "report": always | report, "problems": always | parallel}
    of_folders |= {
        "run": always | parallel | submitit | dask | optuna,
        "estimators": always | estimators,
        "distributed": always | dask,
    }
    provided = packages_distributions()
    for folder in INSTALLED_AS:
        for path in (ROOT / folder).rglob("*.py"):
            declared = of_folders.get(path.parent.name, always)
            for module in imported_modules(path) - not_needed - sys.stdlib_module_names:
                assert declared & {canonicalize_name(name) for name in provided[module]}, f"{path} imports {module}"


def test_files_of_tests_are_read_without_packages_that_some_pythons_or_systems_lack():
    requirements = [Requirement(text) for texts in EXTRAS.values() for text in texts]
    lacking = {canonicalize_name(requirement.name) for requirement in requirements if requirement.marker}
    assert "pymaxflow" in lacking
    provided = packages_distributions()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for module in imported_modules(path, anywhere=False):
            assert not lacking & {canonicalize_name(name) for name in provided.get(module, [])}, f"{path} imports {module}"


SYSTEMS = {"here": {}, "Mac with Intel": {"sys_platform": "darwin", "platform_machine": "x86_64"}}


def meant(requirement: Requirement, system: str) -> bool:
    """Return whether a requirement is one on a system of `SYSTEMS`."""
    return requirement.marker is None or requirement.marker.evaluate(default_environment() | SYSTEMS[system] | {"extra": ""})


def pins(name: str, system: str) -> dict[str, Requirement]:
    """Return the packages of a lock file on a system, by name; each has one version there, for all Pythons."""
    lines = [line for line in (ROOT / name).read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.match(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*( ; |$)", line)] == []
    assert [line for line in lines if "://" in line or line.startswith("-")] == []
    here = [requirement for requirement in map(Requirement, lines) if meant(requirement, system)]
    found = {canonicalize_name(requirement.name): requirement for requirement in here}
    assert len(found) == len(here)
    return found


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(
    ("name", "extras"), [("requirements.lock", {"experiments", "estimators"}), ("requirements-dev.lock", set(EXTRAS))]
)
def test_lock_files_pin_every_dependency_without_addresses(name, extras, system):
    locked = pins(name, system)
    declared = sum((EXTRAS[extra] for extra in extras), PYPROJECT["project"]["dependencies"])
    for requirement in map(Requirement, declared):
        if requirement.name != "fwexp" and meant(requirement, system):
            assert canonicalize_name(requirement.name) in locked, f"{requirement.name} is not locked"
            (pin,) = locked[canonicalize_name(requirement.name)].specifier
            assert pin.version in requirement.specifier, f"{requirement} is locked at {pin.version}"


@pytest.mark.parametrize("system", SYSTEMS)
def test_users_install_few_packages_at_the_versions_that_are_tested(system):
    user, dev = pins("requirements.lock", system), pins("requirements-dev.lock", system)
    assert len(user) <= 36
    assert {str(requirement) for requirement in user.values()} <= {str(requirement) for requirement in dev.values()}


def test_each_extra_is_documented_and_tried():
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "docs" / "install.md").read_text(), re.MULTILINE)
    assert {name for row in rows for name in re.findall("`(.*?)`", row)} == set(EXTRAS)
    assert {name for names in JOBS for name in names} == set(EXTRAS) - {"dev"}


def test_make_has_every_target_that_is_named():
    """In README and the pages, in ``make help``, and one for every figure of the catalogue."""
    named = [line.split()[0] for line in command_lines("make")]
    named += re.findall(r"make ([a-z]+)\b(?!-)", "\n".join(re.findall(r"^## (.*)$", MAKEFILE, re.MULTILINE)))
    assert {"quickstart", "test"} <= set(named)
    named += [figure_target(name) for name in FIGURES]
    for targets in (["venv"], sorted({*named} - {"venv"})):  # what all need is made once only
        run = dry_run(*targets)
        assert run.returncode == 0, run.stderr
        assert "Nothing to be done" not in run.stdout, run.stdout  # it says so of a target without commands
    assert "Nothing to be done" in dry_run("Makefile").stdout


def test_make_draws_every_figure():
    lines = [line.split()[1:] for line in dry_run(*map(figure_target, FIGURES)).stdout.splitlines()]
    assert lines[-len(FIGURES) :] == [["figure", name] for name in FIGURES]


def test_workflows_name_what_is_there():
    """Only GitHub runs them, so a wrong name would show late: targets, folders of tests, promised Pythons."""
    files = (ROOT / ".github" / "workflows").glob("*.yml")
    jobs = [job for path in files for job in yaml.safe_load(path.read_text())["jobs"].values()]
    words = [step["run"].split() for job in jobs for step in job["steps"] if "run" in step]
    targets = {word for command in words if command[0] == "make" for word in command[1:] if "=" not in word}
    assert targets
    assert (run := dry_run(*targets)).returncode == 0, run.stderr
    paths = {word for command in words for word in command if word.startswith(("tests/", "requirements"))}
    assert [path for path in paths if not (ROOT / path).exists()] == []
    classifiers = {line.rpartition(" :: ")[2] for line in PYPROJECT["project"]["classifiers"]}
    pythons = {python for job in jobs for python in job.get("strategy", {"matrix": {}})["matrix"].get("python", ())}
    assert {"3.11", "3.14"} <= pythons <= classifiers


def copy_sources(source: Path) -> Path:
    """Copy what is installed."""
    for name in INSTALLED_AS:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ["pyproject.toml", "README.md", "LICENSE"]:
        shutil.copy(ROOT / name, source)
    return source


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build a wheel without a network."""
    source = copy_sources(tmp_path_factory.mktemp("source"))
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "."]
    run = subprocess.run(command, capture_output=True, text=True, cwd=source)
    assert run.returncode == 0, run.stdout + run.stderr
    (path,) = source.glob("*.whl")
    return path


@pytest.mark.slow
def test_wheel_holds_all_modules_configurations_and_data(wheel):
    kinds = {".py", ".pyi", ".typed", ".yaml", ".json", ".npz", ".css", ".html", ".js", ".mplstyle"}
    expected = {
        f"{target}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, target in INSTALLED_AS.items()
        for path in (ROOT / folder).rglob("*")
        if path.suffix in kinds
    }
    assert {"fwexp/conf/config.yaml", "fwexp/data/digits.npz", "fwexp/experiments/__init__.py", "fwexp/py.typed"} <= expected
    names = zipfile.ZipFile(wheel).namelist()
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_links_of_the_page_on_an_index_are_absolute(wheel):
    (name,) = (name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/METADATA"))
    links = re.findall(r"\]\(([^)]+)\)", zipfile.ZipFile(wheel).read(name).decode())
    assert [link for link in links if not link.startswith("https://")] == []
    home = PYPROJECT["project"]["urls"]["Repository"]
    ours = [re.sub(rf"{home}/(blob|raw)/v{fwexp.__version__}/", "", link) for link in links if link.startswith(home)]
    assert {"docs/install.md", "results/published/figures/horses/overlays.png"} <= set(ours)
    assert [path for path in ours if not (ROOT / path.partition("#")[0]).is_file()] == []


@pytest.mark.slow
def test_builds_are_the_same_bytes(tmp_path):
    """From another place, with other rights and times of files."""
    code = "import sys, hatchling.build as build; print(build.build_wheel(sys.argv[1]), build.build_sdist(sys.argv[1]))"
    built = []
    for mask in (0o022, 0o077):
        source = copy_sources(tmp_path / f"{mask}")
        for path in source.rglob("*"):
            path.chmod(path.stat().st_mode & ~mask)
            os.utime(path, (mask, mask))
        target = tmp_path / f"{mask}" / "dist"
        command = [sys.executable, "-c", code, str(target)]
        environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
        done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, umask=mask)
        assert done.returncode == 0, done.stderr
        built.append({name: (target / name).read_bytes() for name in done.stdout.split()})
    assert len(built[0]) == 2
    assert built[0] == built[1]


@pytest.mark.slow
def test_unpacked_wheel_works(wheel, tmp_path):
    """Everything comes from the wheel: modules, configurations, presets of figures, embedded data."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = """
import json
import fwexp, fwexp.experiments, fwexp.plots, fwexp.run.config
conf = fwexp.run.config.conf_dir()
presets = [f"experiment/{figure.preset}.yaml" for figure in fwexp.experiments.FIGURES.values() if figure.has_runs]
files = [fwexp.__file__, fwexp.experiments.__file__, fwexp.plots.__file__]
files += [str(conf / name) for name in ["config.yaml", *presets]]
train, test = fwexp.load_dataset("digits")
print(json.dumps({"files": files, "sizes": [train.n, test.n]}))
"""
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-W", "error", "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["sizes"] == [1000, 500]
    for file in map(Path, found["files"]):
        assert file.is_relative_to(tmp_path / "site"), f"{file} is not in the wheel"
        assert file.is_file()


def test_a_clone_works_beside_any_script(tmp_path):
    """A script in the folder that holds the clone has a folder of the package's name on its path."""
    clone, site = copy_sources(tmp_path / "home" / "fwexp"), tmp_path / "site"
    code = f"import hatchling.build as build; print(build.build_editable({str(site)!r}))"
    site.mkdir()
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=clone)
    assert run.returncode == 0, run.stderr
    (path,) = site.glob("*.whl")
    zipfile.ZipFile(path).extractall(site)
    script = tmp_path / "home" / "script.py"
    script.write_text(
        f"import site, sys; site.addsitedir({str(site)!r}); sys.path.append({str(Path(psutil.__file__).parents[1])!r})\n"
        "import fwexp, fwexp.experiments, fwexp.plots\n"
        "print(fwexp.__version__, fwexp.__file__, fwexp.experiments.__file__)\n"
    )
    for command in ([str(script)], ["-c", script.read_text()]):  # -S, -E: without the fwexp that runs this test
        run = subprocess.run([sys.executable, "-S", "-E", *command], capture_output=True, text=True, cwd=script.parent)
        assert run.returncode == 0, run.stderr
        assert run.stdout.split() == [
            fwexp.__version__,
            str(clone / "fwexp" / "__init__.py"),
            str(clone / "experiments" / "__init__.py"),
        ]
