"""The comparison command, on the smoke stories."""

import os
import signal
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from wordlm.ablate import measure_all
from wordlm.checkpoints import load_model_npz, open_checkpoint
from wordlm.engines import OnnxEngine
from wordlm.export_onnx import export
from wordlm.files import read_json
from wordlm.loss import perplexity
from wordlm.models import build_model, build_variant, count_parameters, variant_of
from wordlm.prepare_data import prepare
from wordlm.results import check_comparison
from wordlm.run_head_comparison import aggregate, main
from wordlm.runs import Run, plan_runs, train_run
from wordlm.training import TrainConfig, evaluate, make_optimizer, train_step
from wordlm.variants import MLP, Variant

SMALL = ["--steps", "60", "--batch-size", "64", "--eval-every", "20", "--device", "cpu"]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    prepare("smoke", folder)
    return folder


def command(data_dir, output_dir, *options) -> list[str]:
    start = [sys.executable, "-m", "wordlm.run_head_comparison", "--profile", "smoke"]
    return [*start, "--data-dir", str(data_dir), "--output-dir", str(output_dir), *SMALL, *options]


def run(*args) -> subprocess.CompletedProcess:
    return subprocess.run(command(*args), capture_output=True, text=True)


@pytest.fixture
def refusal(monkeypatch, capsys):
    """Run the command in this process, which it must refuse to go on with; return what it says."""

    def refuse(*args) -> str:
        monkeypatch.setattr(sys, "argv", command(*args)[2:])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code
        return f"{capsys.readouterr().err}{stopped.value.code}"

    return refuse


@pytest.fixture(scope="module")
def undisturbed(data_dir, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    done = run(data_dir, folder)
    assert done.returncode == 0, done.stderr
    assert "multihead" in done.stdout
    return folder


def without_times(comparison):
    """Runtimes differ from run to run; everything else must not."""
    if isinstance(comparison, dict):
        return {key: without_times(value) for key, value in comparison.items() if key != "runtime_seconds"}
    if isinstance(comparison, list):
        return [without_times(value) for value in comparison]
    return comparison


def test_the_whole_comparison_has_three_kinds_at_three_seeds(undisturbed, smoke_corpus):
    comparison = read_json(undisturbed / "heads" / "comparison.json")
    assert set(comparison) == {"runs", "aggregate", "environment", "protocol", "baselines"}
    assert list(comparison["runs"]) == ["mlp", "attention", "multihead"]
    for kind, runs in comparison["runs"].items():
        assert [one["seed"] for one in runs] == [11, 29, 47]
        for metric in ("test_loss", "test_perplexity", "runtime_seconds"):
            values = [one[metric] for one in runs]
            assert comparison["aggregate"][kind][metric] == {
                "mean": pytest.approx(sum(values) / 3),
                "sample_std": pytest.approx(statistics.stdev(values)),
            }
    assert comparison["protocol"]["data_sha256"] == smoke_corpus.digest
    benchmark = read_json(undisturbed / "benchmark.json")
    assert list(benchmark["runs"]) == ["mlp", "attention"]
    assert benchmark["runs"]["attention"] == comparison["runs"]["attention"]


def test_a_saved_checkpoint_scores_what_the_comparison_says(undisturbed, smoke_corpus, smoke_windows):
    comparison = read_json(undisturbed / "heads" / "comparison.json")
    for kind in ("mlp", "attention", "multihead"):
        model = build_model(kind, len(smoke_corpus.vocab))
        path = undisturbed / "heads" / f"{kind}_seed29.npz"
        metadata, model = load_model_npz(path, model, vocab_sha256=smoke_corpus.vocab.sha256)
        expected = comparison["runs"][kind][1]
        assert metadata["selected_step"] == expected["selected_step"]
        assert metadata["heads"] == {"mlp": None, "attention": 1, "multihead": 4}[kind]
        loss = evaluate(model, *smoke_windows["test"])
        assert loss == pytest.approx(expected["test_loss"], abs=1e-6)
        assert perplexity(loss) == pytest.approx(expected["test_perplexity"], abs=1e-4)


def test_a_killed_comparison_resumes_to_the_same_numbers(data_dir, undisturbed, tmp_path):
    process = subprocess.Popen(
        command(data_dir, tmp_path), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    )
    runs = tmp_path / "runs"
    while len(list(runs.glob("*.json"))) < 3:
        with pytest.raises(subprocess.TimeoutExpired):  # else it ended before it could be killed
            process.wait(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    finished = {path.name: path.stat().st_mtime_ns for path in runs.glob("*.json")}
    assert 3 <= len(finished) < 9

    done = run(data_dir, tmp_path)
    assert done.returncode == 0, done.stderr
    for name, written in finished.items():
        assert (runs / name).stat().st_mtime_ns == written, f"{name} was trained again"
    resumed, whole = (read_json(folder / "heads" / "comparison.json") for folder in (tmp_path, undisturbed))
    assert without_times(resumed) == without_times(whole)


def test_another_configuration_in_the_same_folder_is_refused(data_dir, undisturbed, refusal):
    before = (undisturbed / "heads" / "comparison.json").read_bytes()
    assert "holds runs with steps = 60, this command asks for 61" in refusal(data_dir, undisturbed, "--steps", "61")
    assert (undisturbed / "heads" / "comparison.json").read_bytes() == before


def test_options_narrow_the_comparison_to_some_runs(data_dir, tmp_path):
    done = run(data_dir, tmp_path, "--kinds", "multihead", "--heads", "2", "8", "--seeds", "5", "--steps", "4")
    assert done.returncode == 0, done.stderr
    comparison = read_json(tmp_path / "heads" / "comparison.json")
    assert list(comparison["runs"]) == ["multihead_h2", "multihead_h8"]
    assert comparison["runs"]["multihead_h8"][0]["heads"] == 8
    assert comparison["aggregate"]["multihead_h8"]["test_loss"]["sample_std"] is None


@pytest.mark.filterwarnings("ignore")  # the exporter's own deprecations
def test_models_that_share_keys_and_values_are_trained_scored_measured_and_exported(
    data_dir, tmp_path, smoke_corpus, smoke_windows
):
    options = ["--kinds", "multihead", "--heads", "8", "--kv-heads", "1", "2", "--seeds", "5", "--steps", "4"]
    done = run(data_dir, tmp_path, *options)
    assert done.returncode == 0, done.stderr
    comparison = check_comparison(read_json(tmp_path / "heads" / "comparison.json"))
    assert list(comparison["runs"]) == ["multihead_h8_kv1", "multihead_h8_kv2"]
    measured = measure_all(tmp_path / "heads", smoke_corpus)["checkpoints"]
    for kv_heads, (group, (record,)) in zip((1, 2), comparison["runs"].items(), strict=True):
        assert (record["heads"], record["kv_heads"]) == (8, kv_heads)
        path = tmp_path / "heads" / f"{group}_seed5.npz"
        _, model, vocab = open_checkpoint(path)
        assert variant_of(model) == Variant("multihead", 8, kv_heads)
        assert record["parameters"] == count_parameters(model)
        assert evaluate(model, *smoke_windows["test"]) == pytest.approx(record["test_loss"], abs=1e-6)
        assert measured[path.stem]["loss"] == pytest.approx(record["test_loss"], abs=1e-6)
        export(path, tmp_path / "model.onnx")
        engine = OnnxEngine(tmp_path / "model.onnx", Variant("multihead", 8, kv_heads), vocab_sha256=vocab.sha256)
        contexts = smoke_windows["test"][0][100:103]
        for context in contexts:
            with torch.inference_mode():
                expected = model(context[None])[0]
            np.testing.assert_allclose(engine.logits(context[None].numpy()), expected, atol=1e-4)
        with pytest.raises(ValueError, match=f"it says that it is multihead with 8 heads, {kv_heads} kv"):
            OnnxEngine(tmp_path / "model.onnx", Variant("multihead", 8), vocab_sha256=vocab.sha256)


def test_keys_and_values_that_cannot_be_shared_are_refused_by_the_command(data_dir, tmp_path, refusal):
    for wrong in ("0", "3", "8"):
        assert f"--kv-heads: {wrong} must be at least 1 and divide --heads 4" in refusal(
            data_dir, tmp_path, "--kv-heads", wrong
        )
    assert "--kv-heads is for kind multihead" in refusal(data_dir, tmp_path, "--kinds", "mlp", "--kv-heads", "1")


@pytest.mark.parametrize("heads", ["3", "1", "0", "128"])
def test_head_counts_that_cannot_be_are_refused_by_the_command(data_dir, tmp_path, refusal, heads):
    assert "must be at least 2 and divide 64" in refusal(data_dir, tmp_path, "--heads", heads)


@pytest.mark.parametrize("device", ["foo", "cuda:99"])
def test_a_device_that_is_not_here_is_refused(data_dir, tmp_path, refusal, device):
    if device.startswith("cuda") and torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    assert f"error: the device '{device}' was asked for" in refusal(data_dir, tmp_path, "--device", device)


def test_missing_data_names_the_command_that_brings_it(tmp_path):
    done = run(tmp_path / "nothing", tmp_path / "out")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "python -m wordlm.prepare_data --profile smoke" in done.stderr
    assert not (tmp_path / "out").exists()


def test_runs_are_planned_seed_by_seed_and_named_by_what_they_are():
    names = [run.name for run in plan_runs(["attention", "multihead"], [4, 16], [11, 29])]
    assert names == [
        "attention_seed11",
        "multihead_seed11",
        "multihead_h16_seed11",
        "attention_seed29",
        "multihead_seed29",
        "multihead_h16_seed29",
    ]
    assert Run(MLP, 47).name == "mlp_seed47"
    shared = plan_runs(["mlp", "multihead"], [4, 8], [11], [2, 4])
    assert [run.name for run in shared] == [
        "mlp_seed11",
        "multihead_kv2_seed11",
        "multihead_seed11",
        "multihead_h8_kv2_seed11",
        "multihead_h8_kv4_seed11",
    ]


def test_a_run_begins_and_draws_its_batches_by_its_own_seed(smoke_corpus, smoke_windows):
    """Not by that of the settings, which is the same for all runs."""
    variant, config = Variant.with_heads(2), TrainConfig(steps=4, batch_size=32, seed=11)
    seen = []
    train_run(Run(variant, 29), smoke_corpus, config, "cpu", seen.append)

    contexts, targets = smoke_windows["train"]
    model, rows = build_variant(variant, len(smoke_corpus.vocab), 29), torch.Generator().manual_seed(29)
    optimizer, losses = make_optimizer(model, config), []
    for _ in range(config.steps):
        batch = torch.randint(len(targets), (config.batch_size,), generator=rows)
        losses.append(train_step(model, optimizer, contexts[batch], targets[batch], "fp32"))
    assert [progress.train_loss for progress in seen[1:]] == pytest.approx(losses, abs=1e-6)


def test_the_spread_is_the_sample_deviation_not_the_population_s():
    runs = [{"test_loss": v, "test_perplexity": v, "runtime_seconds": v} for v in (1.0, 2.0, 4.0)]
    assert aggregate(runs)["test_loss"]["sample_std"] == pytest.approx((7 / 3) ** 0.5)
