"""``fwexp ls`` on stores in any state."""

import subprocess
import sys
import warnings

import pytest

from fwexp import store
from fwexp.cli import COMMANDS


def make_stray(kind, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "file":
        path.write_text("notes")
    else:
        path.symlink_to({"dangling": "nowhere", "circle": path.name}[kind])


@pytest.mark.parametrize("kind", ["file", "dangling", "circle"])
@pytest.mark.parametrize("place", ["", "digits/bcfw", "digits/bcfw/failed", f"{'d' * 250}/bcfw"])
def test_a_stray_item_is_one_line_and_the_rest_is_listed(fwexp, tmp_path, config, make_result, place, kind):
    path = store.save(make_result(), config, "results")
    store.save_failure(ValueError("nothing"), config | {"seed": 1}, "results")
    before = fwexp("ls")[1].splitlines()
    make_stray(kind, tmp_path / "results" / "runs" / place / "Über\n\udcff.json")
    code, out, err = fwexp("ls")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert len(lines) == len(before) + 1
    (line,) = (line for line in lines if line.startswith("damaged"))
    assert "Über??" in line
    assert [line.split()[:8] for line in lines if "damaged" not in line] == [line.split()[:8] for line in before]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert set(store.load_results()["key"]) == {path.name}
    assert len(caught) == (place != "digits/bcfw/failed")  # which has no results
    assert store.is_stored("results", config)


@pytest.mark.parametrize("kind", ["file", "circle"])
@pytest.mark.parametrize(
    "place", [".", "digits", "digits/bcfw", "digits/bcfw/failed", "digits/bcfw/failed/x.json", "digits/bcfw/x"]
)
def test_a_stray_item_in_the_place_of_a_folder_is_one_line(fwexp, tmp_path, place, kind):
    make_stray(kind, tmp_path / "results" / "runs" / place)
    code, out, err = fwexp("ls")
    assert (code, err, len(out.splitlines())) == (0, "", 2)
    assert out.splitlines()[1].startswith("damaged")


def test_a_run_is_found_by_the_beginning_of_its_key(fwexp, config, make_result):
    keys = [store.save(make_result(), config | {"seed": seed}, "results").name for seed in range(20)]
    code, out, _ = fwexp("ls", f"key={keys[3][:12]}")
    assert (code, [line.split()[4] for line in out.splitlines()]) == (0, ["seed", "3"])
    assert fwexp("ls", f"key={keys[3]}")[1] == out
    assert len(fwexp("ls", f"key={keys[3][:12]},{keys[4][:20]}", "solver=bcfw")[1].splitlines()) == 3
    assert fwexp("ls", "key=nothing")[:2] == (0, "no runs in results/ match\n")
    first = next(key[0] for key in keys if sum(other[0] == key[0] for other in keys) > 1)
    code, out, err = fwexp("ls", f"key={first}")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"key must be the beginning of one key, got '{first}', that of {first}" in err


def test_commands_that_only_read_import_no_compiler_and_a_list_nothing_heavy(tmp_path, config, make_result):
    for name in ("bcfw", "ssg"):
        store.save(make_result(), config | {"solver": {"name": name}}, tmp_path / "results")
    heavy = {"numba", "scipy", "hydra", "pandas", "yaml"}
    commands = [
        "ls",
        "ls method=ssg",
        "compare bcfw ssg --stale",
        "figure",
        "data",
        *(f"{name} --help" for name in COMMANDS if name != "run"),
    ]
    script = f"""import sys; from fwexp.cli import COMMANDS, main
for command in {commands}:
    print("after", command, main(command.split()), *{heavy} & sys.modules.keys(), file=sys.stderr)"""
    done = subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path, capture_output=True, text=True)
    said = [line for line in done.stderr.splitlines() if line.startswith("after")]
    assert said[0] == "after ls 0"
    assert len(said) == len(commands)
    for line, command in zip(said, commands, strict=True):
        assert line.startswith(f"after {command} 0")
        assert "numba" not in line
