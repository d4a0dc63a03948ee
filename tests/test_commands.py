"""Every command of the package with wrong input: one line, a status that is not 0, nothing written."""

import importlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import onnx
import pytest

from wordlm.checkpoints import save_model_npz
from wordlm.engines import OnnxEngine
from wordlm.files import ARTIFACTS, REPOSITORY, read_json, write_json
from wordlm.models import build_model
from wordlm.prepare_data import prepare
from wordlm.variants import Variant


def run(command: str, *args: str, monkeypatch, capsys) -> tuple[int, str]:
    """Run a command's main in this process; return its status and what it said on standard error."""
    monkeypatch.setattr(sys, "argv", [command, *args])
    try:
        importlib.import_module(command).main()
    except SystemExit as stopped:
        said = capsys.readouterr().err
        if isinstance(stopped.code, str):
            return 1, said + stopped.code  # as the interpreter does
        return stopped.code or 0, said.rstrip("\n")
    return 0, capsys.readouterr().err


def save(path: Path, kind: str, vocab, *, heads: int | None = None, seed: int = 1, **more) -> None:
    """Save an untrained model with sound metadata under any name."""
    path.parent.mkdir(exist_ok=True, parents=True)
    stated = {"mlp": None, "attention": 1}.get(kind, heads)
    model = build_model(kind, len(vocab), seed, heads)
    save_model_npz(path, model, {"kind": kind, "heads": stated, "seed": seed, "vocab_sha256": vocab.sha256} | more)


@pytest.fixture
def folder(tmp_path, monkeypatch, smoke_corpus):
    """A working folder with smoke stories, and folders of checkpoints that are wrong in different ways."""
    monkeypatch.chdir(tmp_path)
    prepare("smoke", tmp_path / "data")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("text", encoding="utf-8")
    save(tmp_path / "mlps" / "multihead_seed11.npz", "mlp", smoke_corpus.vocab)
    save(tmp_path / "good" / "own_1.npz", "multihead", smoke_corpus.vocab, heads=2)
    save(tmp_path / "broken" / "a.npz", "attention", smoke_corpus.vocab)
    (tmp_path / "broken" / "b.npz").write_bytes(b"no archive")
    write_json(tmp_path / "taken" / "protocol.json", ["no protocol"])
    return tmp_path


def contents(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


@dataclass(frozen=True)
class Wrong:
    """A command with wrong input, and a part of what it answers."""

    command: str
    args: str
    said: str


SMOKE = "--profile smoke --data-dir data"
COMPARISON = f"{SMOKE} --output-dir out --device cpu"
WRONG = [
    Wrong("prepare_data", "", "--profile"),
    Wrong("prepare_data", "--profile small", "invalid choice: 'small'"),
    Wrong("prepare_data", "--profile smoke --source file", "--source is read for --profile dgx only"),
    Wrong("prepare_data", "--profile smoke --data-dir file", "choose another --data-dir"),
    Wrong("prepare_data", "--profile dgx --source missing.txt", "missing.txt cannot be read"),
    Wrong("prepare_data", "--profile dgx --source empty", "empty cannot be read"),
    Wrong("prepare_data", "--profile dgx --source file", "0 whole stories after the first, 6,000 are needed"),
    Wrong("prepare_data", "--profile dgx --pin", "--pin needs --profile dgx and --source"),
    Wrong("run_head_comparison", "--data-dir missing --output-dir out", "python -m wordlm.prepare_data"),
    Wrong("run_head_comparison", f"{SMOKE} --output-dir file", "file is no folder"),
    Wrong("run_head_comparison", f"{SMOKE} --output-dir file/out", "file is no folder"),
    Wrong("run_head_comparison", f"{SMOKE} --output-dir taken", "is no protocol: choose another"),
    Wrong("run_head_comparison", f"{SMOKE} --output-dir out --device foo", "the device 'foo' was asked for"),
    Wrong("run_head_comparison", f"{SMOKE} --output-dir out --device cpu:foo", "the device 'cpu:foo' was asked for"),
    Wrong("run_head_comparison", f"{SMOKE} --output-dir out --device cuda:99", "the device 'cuda:99' was asked for"),
    Wrong("run_head_comparison", f"{COMPARISON} --engine ray --device foo", "foo is none of auto, cpu, cuda"),
    Wrong("run_head_comparison", f"{COMPARISON} --address host:1", "--address names a Ray cluster"),
    Wrong("run_head_comparison", f"{COMPARISON} --kinds transformer", "invalid choice: 'transformer'"),
    Wrong("run_head_comparison", f"{COMPARISON} --seeds", "expected at least one argument"),
    Wrong("run_head_comparison", f"{COMPARISON} --unknown 1", "unrecognized arguments"),
    *(
        Wrong("run_head_comparison", f"{COMPARISON} {option} {value}", f"{value} is no whole number from")
        for option, value in [
            ("--steps", "0"),
            ("--steps", "-5"),
            ("--steps", "many"),
            ("--steps", "1.5"),
            ("--batch-size", "0"),
            ("--batch-size", "1000000000"),
            ("--eval-every", "0"),
            ("--seeds", "-1"),
            ("--seeds", "1" + "0" * 30),
        ]
    ),
    *(Wrong("run_head_comparison", f"{COMPARISON} --heads {n}", "must be at least 2 and divide 64") for n in "13"),
    *(
        Wrong(command, args, said)
        for command in ("ablate", "profile_heads")
        for args, said in [
            (f"{SMOKE} --heads-dir missing --output out.json", "missing is no folder"),
            (f"{SMOKE} --heads-dir file --output out.json", "file is no folder"),
            (f"{SMOKE} --heads-dir empty --output out.json", "empty holds no .npz file"),
            (f"{SMOKE} --heads-dir mlps --output out.json", "mlps holds no model with heads"),
            (f"{SMOKE} --heads-dir broken --output out.json", "b.npz is no complete .npz file"),
            (f"{SMOKE} --output out.json", "names another vocabulary"),
            (f"{SMOKE} --heads-dir good --output empty", "empty is a folder"),
            (f"{SMOKE} --heads-dir good --output file/out.json", "file is no folder"),
            ("--heads-dir good --output out.json", "python -m wordlm.prepare_data"),
        ]
    ),
    Wrong("export_onnx", "--heads-dir missing --output-dir out", "missing is no folder"),
    Wrong("export_onnx", "--heads-dir file --output-dir out", "file is no folder"),
    Wrong("export_onnx", "--heads-dir empty --output-dir out", "empty holds no .npz file"),
    Wrong("export_onnx", "--heads-dir broken --output-dir out", "a.npz"),
    Wrong(
        "export_onnx", "--names mlp_seed12 --output-dir out", "holds no mlp_seed12.npz: choose from attention_seed11"
    ),
    Wrong("export_onnx", "--names mlp_seed11 --output-dir file", "file is no folder"),
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: f"{wrong.command} {wrong.args}"[:90])
def test_wrong_input_ends_a_command_with_one_line_and_nothing_written(folder, wrong, monkeypatch, capsys):
    before = contents(folder)
    status, said = run(f"wordlm.{wrong.command}", *wrong.args.split(), monkeypatch=monkeypatch, capsys=capsys)
    assert status != 0
    assert wrong.said in said
    assert said.startswith("error: ") and "\n" not in said, said
    assert contents(folder) == before


def test_a_seed_or_head_count_named_twice_is_trained_once(folder, monkeypatch, capsys):
    options = "--steps 2 --batch-size 8 --kinds multihead attention multihead --heads 2 2 --seeds 11 11"
    status, _ = run(
        "wordlm.run_head_comparison", *COMPARISON.split(), *options.split(), monkeypatch=monkeypatch, capsys=capsys
    )
    assert status == 0
    runs = read_json("out/heads/comparison.json")["runs"]
    assert {group: [one["seed"] for one in of_group] for group, of_group in runs.items()} == {
        "attention": [11],
        "multihead_h2": [11],
    }


@pytest.fixture
def finished(folder, monkeypatch, capsys):
    """The folder of a comparison of two runs, and the command that goes on with it."""

    def go_on() -> tuple[int, str]:
        options = "--steps 2 --batch-size 8 --kinds attention multihead --seeds 11"
        return run(
            "wordlm.run_head_comparison", *COMPARISON.split(), *options.split(), monkeypatch=monkeypatch, capsys=capsys
        )

    assert go_on()[0] == 0
    return folder / "out" / "runs", go_on


def change(path: Path, **values) -> None:
    write_json(path, read_json(path) | values)


RECORDS = [
    (
        lambda runs: (runs / "attention_seed11.json").replace(runs / "attention_seed29.json"),
        "record of attention_seed11",
    ),
    (lambda runs: change(runs / "attention_seed11.json", seed=29), "is the record of attention_seed29"),
    (lambda runs: change(runs / "multihead_seed11.json", heads=8), "group 'multihead' with heads = 8"),
    (lambda runs: change(runs / "attention_seed11.json", heads=None), "runs.attention[0].heads must be 1"),
    (lambda runs: change(runs / "attention_seed11.json", test_loss="low"), "is no record of a run"),
    (lambda runs: write_json(runs / "attention_seed11.json", []), "is no record of a run"),
    (lambda runs: (runs / "copy.json").write_bytes((runs / "attention_seed11.json").read_bytes()), "copy.json"),
    (lambda runs: (runs / "attention_seed11.json").write_text("{", encoding="utf-8"), "is not valid JSON"),
    (lambda runs: (runs.parent / "baselines.json").write_text("{", encoding="utf-8"), "is not valid JSON"),
]


@pytest.mark.parametrize(("damage", "said"), RECORDS, ids=[said for _, said in RECORDS])
def test_a_run_counts_as_finished_by_its_content_not_by_its_file_s_name(finished, damage, said):
    runs, go_on = finished
    damage(runs)
    before = contents(runs.parent)
    status, answer = go_on()
    assert status != 0
    assert said in answer and "\n" not in answer
    assert contents(runs.parent) == before


@pytest.mark.filterwarnings("ignore")  # the exporter's own deprecations
def test_own_runs_of_any_name_are_exported_as_what_they_are(tmp_path, vocab, monkeypatch, capsys):
    save(tmp_path / "heads" / "mlp_seed11.npz", "multihead", vocab, heads=2, seed=7)
    save(tmp_path / "heads" / "own_1.npz", "mlp", vocab)
    options = ["--heads-dir", str(tmp_path / "heads"), "--output-dir", str(tmp_path / "onnx")]
    status, said = run("wordlm.export_onnx", *options, monkeypatch=monkeypatch, capsys=capsys)
    assert status == 0, said
    assert sorted(path.name for path in (tmp_path / "onnx").iterdir()) == ["mlp_seed11.onnx", "own_1.onnx"]
    OnnxEngine(tmp_path / "onnx" / "own_1.onnx", Variant("mlp", None))
    OnnxEngine(tmp_path / "onnx" / "mlp_seed11.onnx", Variant("multihead", 2))
    metadata = {entry.key: entry.value for entry in onnx.load(tmp_path / "onnx" / "mlp_seed11.onnx").metadata_props}
    assert (metadata["kind"], metadata["heads"], metadata["seed"]) == ("multihead", "2", "7")
    assert str(REPOSITORY).encode() not in (tmp_path / "onnx" / "mlp_seed11.onnx").read_bytes()


def test_without_the_exporter_s_packages_the_command_names_the_file_that_brings_them(folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "onnx", None)
    before = contents(folder)
    status, said = run("wordlm.export_onnx", "--names", "mlp_seed11", monkeypatch=monkeypatch, capsys=capsys)
    assert status != 0
    assert said == "error: onnx is missing: python -m pip install -r requirements-dev.txt"
    assert contents(folder) == before


@pytest.mark.filterwarnings("ignore")
def test_names_choose_what_is_exported_once_each(tmp_path, vocab, monkeypatch, capsys):
    for name in ("a", "b"):
        save(tmp_path / "heads" / f"{name}.npz", "attention", vocab)
    exported = []
    monkeypatch.setattr("wordlm.export_onnx.export", lambda path, target: (exported.append(path.stem), target.touch()))
    options = ["--heads-dir", str(tmp_path / "heads"), "--output-dir", str(tmp_path), "--names", "b", "b"]
    assert run("wordlm.export_onnx", *options, monkeypatch=monkeypatch, capsys=capsys)[0] == 0
    assert exported == ["b"]


def test_models_with_heads_are_measured_whatever_their_names(tmp_path, smoke_corpus):
    from wordlm.ablate import measure_all

    save(tmp_path / "own_1.npz", "mlp", smoke_corpus.vocab)
    save(tmp_path / "mlp_seed11.npz", "attention", smoke_corpus.vocab)
    result = measure_all(tmp_path, smoke_corpus)
    assert list(result["checkpoints"]) == ["mlp_seed11"]
    assert result["checkpoints"]["mlp_seed11"]["heads"] == 1


@pytest.mark.parametrize("command", ["prepare_data", "run_head_comparison", "ablate", "profile_heads", "export_onnx"])
def test_every_command_explains_itself(command):
    done = subprocess.run([sys.executable, "-m", f"wordlm.{command}", "--help"], capture_output=True, cwd=REPOSITORY)
    assert done.returncode == 0
    assert done.stderr == b""
    assert b"usage:" in done.stdout


def test_a_bundled_export_is_refused_for_what_it_is_not():
    path = ARTIFACTS / "onnx" / "attention_seed11.onnx"
    with pytest.raises(ValueError, match=r"attention_seed11\.onnx.*attention with 1 head, what is wanted is multihead"):
        OnnxEngine(path, Variant("multihead", 4))
    with pytest.raises(ValueError, match="names another vocabulary"):
        OnnxEngine(path, vocab_sha256="0")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("heads", "4", "it says that it is attention with 4 heads, what is wanted is attention with 1 head"),
        ("heads", "many", "heads must be a whole number"),
        ("kind", "multihead", "it says that it is multihead with 1 head"),
        ("kind", None, "kind must be mlp, attention or multihead"),
        ("vocab_sha256", None, "names another vocabulary"),
    ],
)
def test_an_export_is_opened_by_what_its_metadata_says(tmp_path, key, value, said):
    proto = onnx.load(ARTIFACTS / "onnx" / "attention_seed11.onnx")
    kept = {entry.key: entry.value for entry in proto.metadata_props if entry.key != key}
    onnx.helper.set_model_props(proto, kept | ({key: value} if value is not None else {}))
    onnx.save(proto, tmp_path / "attention_seed11.onnx")
    with pytest.raises(ValueError, match=said) as error:
        OnnxEngine(tmp_path / "attention_seed11.onnx", Variant("attention", 1))
    assert "attention_seed11.onnx" in str(error.value)


def test_an_onnx_file_that_is_no_language_model_is_refused(tmp_path):
    ids = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])
    out = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", [ids], [out])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(ValueError, match=r"other\.onnx is another ONNX model: it does not turn ids into logits"):
        OnnxEngine(tmp_path / "other.onnx")


def in_a_process(*command: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, encoding="utf-8", cwd=REPOSITORY)


@pytest.mark.parametrize(
    ("benchmark", "options", "said"),
    [
        ("training", ["--data-dir", "work/nowhere"], "python -m wordlm.prepare_data --profile dgx"),
        ("training", ["--steps", "0"], "0 is no whole number from 10"),
        ("load", ["--sessions", "0"], "0 is no whole number from 1"),
        ("pages", ["--repeats", "-1"], "-1 is no whole number from 3"),
    ],
)
def test_wrong_input_ends_a_benchmark_with_one_line(benchmark, options, said):
    done = in_a_process("-m", f"tests.benchmarks.{benchmark}", *options)
    assert done.returncode != 0
    assert said in done.stderr
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


def test_benchmarks_call_what_pages_share_without_a_word_from_streamlit():
    program = (
        "import tests.benchmarks\n"
        "from wordlm.ui.state.resources import checkpoint, model_of, vocabulary\n"
        "model_of(checkpoint('4', 11)), vocabulary()\n"
    )
    done = in_a_process("-c", program)
    assert done.returncode == 0
    assert done.stderr == ""
