"""The command as people meet it: help, errors in one line, exit codes."""

from __future__ import annotations

import inspect
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.main import get_command

from pinvgcn.cli import main
from pinvgcn.cli.app import COMMANDS, app
from pinvgcn.cli.compare import compare
from pinvgcn.cli.demo import demo
from pinvgcn.cli.reproduce import reproduce
from pinvgcn.datasets import dataset_info, dataset_names
from pinvgcn.errors import DataError, RankWarning
from pinvgcn.experiments import comparison
from pinvgcn.experiments import demo as demo_job
from pinvgcn.experiments.reproduce import runner
from pinvgcn.experiments.reproduce.job import ReproduceRequest

COMMAND = [sys.executable, "-m", "pinvgcn"]


def pinvgcn(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1", **environment},
    )


@pytest.fixture
def quiet(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> pytest.CaptureFixture[str]:
    monkeypatch.delenv("PINVGCN_DEBUG", raising=False)
    return capfd


def test_alone_it_shows_five_things_to_do(quiet: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out, err = quiet.readouterr()
    shown = re.findall(r"  pinvgcn (\w+)", out)
    assert shown == ["demo", "segment", "label", "classify", "predict"]
    assert max(map(len, out.splitlines())) <= 105
    assert err == ""


def test_completion_of_a_shell() -> None:
    """What the script of a shell asks; the shell that the tests were started from does not matter."""
    asked = {"_PINVGCN_COMPLETE": "complete_bash", "COMP_WORDS": "pinvgcn se", "COMP_CWORD": "1"}
    result = pinvgcn(**asked)
    assert (result.returncode, result.stdout.split()) == (0, ["segment"])


@pytest.mark.parametrize("argument", ["--help", "-h"])
def test_help_lists_the_commands(argument: str, quiet: pytest.CaptureFixture[str]) -> None:
    assert main([argument]) == 0
    out, err = quiet.readouterr()
    assert all(word in out for word in ("demo", "datasets", "--debug"))
    assert err == ""
    lines = out.splitlines()
    assert len(lines) < 40
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines[1:] if line.endswith("...")]  # cut short


@pytest.mark.parametrize("command", COMMANDS.split())
def test_each_command_has_help(command: str, quiet: pytest.CaptureFixture[str]) -> None:
    """It fits a screen, and every option that the command has is in it."""
    assert main([command, "--help"]) == 0
    lines = quiet.readouterr().out.splitlines()
    assert lines[0].startswith(f"Usage: pinvgcn {command}")
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    for parameter in get_command(app).commands[command].params:
        name = parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.metavar
        assert any(name in line.split() or f"{name}," in line.split() for line in lines[4:]), name


def test_version_through_the_module() -> None:
    from importlib.metadata import version

    result = pinvgcn("--version")
    assert (result.returncode, result.stdout.strip()) == (0, f"pinvgcn {version('pinvgcn')}")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["frobnicate"], "frobnicate"),
        (["--nonsense"], "--nonsense"),
        (["demo", "--seed", "x"], "--seed"),
        (["demo", "--seed", "-1"], "--seed"),
        (["demo", "--splits", "0"], "--splits"),
        (["segment", "--fit-points", "10"], "--fit-points"),
        (["demo", "--out"], "--out"),
        (["demo", "superfluous"], "superfluous"),
    ],
)
def test_wrong_arguments_get_one_line(
    arguments: list[str], expected: str, refused: Callable[..., str]
) -> None:
    err = refused(*arguments)
    assert expected in err
    assert "--help" in err


@pytest.mark.parametrize("below", [False, True])
def test_an_output_path_that_is_a_file(below: bool, tmp_path: Path, refused: Callable[..., str]) -> None:
    path = tmp_path / "file"
    path.write_text("precious")
    assert str(path) in refused("demo", "--out", path / "sub" if below else path)
    assert path.read_text() == "precious"


def raising(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``pinvgcn datasets`` fail."""

    def fail() -> tuple[str, ...]:
        raise error

    monkeypatch.setattr("pinvgcn.datasets.dataset_names", fail)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            DataError("points must be finite.\n  Got NaN."),
            "pinvgcn: error: points must be finite. Got NaN.\n",
        ),
        (
            PermissionError(13, "Permission denied", "out/report.html"),
            "pinvgcn: error: Permission denied: 'out/report.html'\n",
        ),
        (OSError("disk is odd"), "pinvgcn: error: disk is odd\n"),
    ],
)
def test_expected_errors_are_one_line(
    error: Exception, line: str, quiet: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    raising(error, monkeypatch)
    assert main(["datasets"]) == 2
    assert quiet.readouterr().err == line


@pytest.mark.parametrize("how", ["before", "after", "environment"])
def test_debug_shows_the_traceback(
    how: str, quiet: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    raising(DataError("bad"), monkeypatch)
    if how == "environment":
        monkeypatch.setenv("PINVGCN_DEBUG", "1")
    arguments = {"before": ["--debug", "datasets"], "after": ["datasets", "--debug"]}.get(how, ["datasets"])
    assert main(arguments) == 2
    err = quiet.readouterr().err
    assert "Traceback" in err
    assert err.endswith("pinvgcn: error: bad\n")


def test_a_mistake_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(ZeroDivisionError("ours"), monkeypatch)
    with pytest.raises(ZeroDivisionError):
        main(["datasets"])


@pytest.mark.parametrize("rank", ["0", "1"])
def test_only_the_first_of_several_processes_warns(
    rank: str, quiet: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def warn() -> tuple[str, ...]:
        warnings.warn("the paper is thin", RankWarning, stacklevel=2)
        return ()

    monkeypatch.setattr("pinvgcn.datasets.dataset_names", warn)
    monkeypatch.setenv("RANK", rank)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert main(["datasets"]) == 0
    assert [str(one.message) for one in said] == ["the paper is thin"] * (rank == "0")


def test_interrupting_inside_a_command(
    quiet: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    raising(KeyboardInterrupt(), monkeypatch)
    assert main(["datasets"]) == 130
    assert quiet.readouterr().err == "pinvgcn: interrupted\n"


def test_datasets_lists_every_name(
    quiet: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("PINVGCN_CACHE", str(tmp_path))
    monkeypatch.delenv("PINVGCN_DATA", raising=False)
    assert main(["datasets"]) == 0
    lines = quiet.readouterr().out.splitlines()
    of = {line.split()[0]: line for line in lines if line.split()}
    for name in dataset_names():
        assert f"{dataset_info(name).rows:,}" in of[name]
        assert dataset_info(name).description[:20] in of[name]
    assert "in the package" in of["mushroom"]
    assert "generated" in of["street"]
    assert "not here" in of["oakland1"]


def test_datasets_shows_the_folder_of_what_is_here(
    quiet: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (file,) = dataset_info("covertype45").files
    (tmp_path / file.path).parent.mkdir(parents=True)
    (tmp_path / file.path).write_bytes(b"")
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("PINVGCN_DATA", str(tmp_path))
    assert main(["datasets"]) == 0
    line = next(line for line in quiet.readouterr().out.splitlines() if "covertype45" in line)
    assert str((tmp_path / file.path).parent) in line


def test_datasets_with_a_wrong_data_folder(
    refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PINVGCN_DATA", str(tmp_path / "nowhere"))
    assert "PINVGCN_DATA" in refused("datasets")


def test_a_closed_pipe_is_no_traceback() -> None:
    process = subprocess.Popen([*COMMAND, "datasets"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) != 0


@pytest.mark.alone
def test_help_is_not_slowed_down_by_heavy_imports() -> None:
    code = "import sys; from pinvgcn.cli import main; main(['--help']); print('torch' in sys.modules)"
    start = time.perf_counter()
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "False"
    assert time.perf_counter() - start < 30


def test_defaults_are_those_of_the_jobs() -> None:
    """They stand twice, since help loads nothing heavy."""

    def default(command: Callable[..., None], option: str) -> object:
        return inspect.signature(command).parameters[option].default

    assert float(str(default(reproduce, "budget"))) == runner.BUDGET == ReproduceRequest().budget
    assert default(reproduce, "runs") is ReproduceRequest().runs is None
    assert (str(default(reproduce, "training")),) == ReproduceRequest().training
    assert (str(default(reproduce, "coordinates")),) == ReproduceRequest().coordinates
    assert default(compare, "budget") == comparison.BUDGET
    assert default(demo, "splits") == demo_job.SPLITS


def test_an_interrupt_inside_code_made_from_text_is_130_too(tmp_path: Path) -> None:
    """Python would end ``-m`` by the signal: it remembers such an interrupt, even one that was caught."""
    (tmp_path / "sitecustomize.py").write_text(
        "import pinvgcn.cli.app as module\n"
        "def command(*_, **__):\n"
        "    exec('import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(5)')\n"
        "module.app = command\n"
    )
    result = subprocess.run(
        COMMAND,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert (result.returncode, result.stderr) == (130, "pinvgcn: interrupted\n")
