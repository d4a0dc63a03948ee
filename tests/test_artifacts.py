"""The bundled files agree with each other and with what the code computes from them."""

import pytest
import torch

from tests.library_layer import library_attention
from wordlm.checkpoints import load_model_npz
from wordlm.files import ARTIFACTS, read_json, sha256_file
from wordlm.models import build_variant, parameter_count
from wordlm.profiles import STORIES, TARGETS, Profile, Readings, profile_of
from wordlm.run_head_comparison import aggregate
from wordlm.text import encode_prompt
from wordlm.variants import KINDS, Variant

CHECKPOINTS = sorted((ARTIFACTS / "heads").glob("*.npz"))
ATTENTION = [path for path in CHECKPOINTS if not path.stem.startswith("mlp")]
# Logits reach about 20; float32 sums in another order differ by this much.
ROUNDING = 1e-4

# The seeds of the models that share keys and values.
SHARED_RUNS = {
    "multihead_kv1": [11, 29, 47],
    "multihead_kv2": [11, 29, 47],
    "multihead_h8_kv1": [11, 29, 47],
    "multihead_h8_kv2": [11, 29, 47],
    "multihead_h8_kv4": [11, 29, 47],
}

PROMPTS = ["a little dog found a red hat", "", "once upon a time " * 30, "the the the the"]


def load(path):
    return load_model_npz(path, build_variant(Variant.of_group(path.stem.split("_seed")[0])))


def test_the_bundled_checkpoints_are_those_of_the_contract():
    names = {path.stem for path in CHECKPOINTS}
    assert names == {
        "mlp_seed11",
        *(f"{kind}_seed{seed}" for kind in ("attention", "multihead") for seed in (11, 29, 47)),
        *(f"multihead_h{heads}_seed11" for heads in (2, 8, 16)),
        *(f"multihead_{shared}_seed11" for shared in ("kv1", "kv2", "h8_kv1", "h8_kv2")),
    }


@pytest.mark.parametrize("path", CHECKPOINTS, ids=lambda path: path.stem)
def test_forward_equals_details_for_every_bundled_checkpoint(path, vocab):
    _, model = load(path)
    ids = torch.cat([torch.from_numpy(encode_prompt(text, vocab).input_ids) for text in PROMPTS])
    with torch.inference_mode():
        torch.testing.assert_close(model(ids), model.forward_details(ids)["logits"], atol=ROUNDING, rtol=0)


@pytest.mark.parametrize("path", ATTENTION, ids=lambda path: path.stem)
def test_weights_of_every_bundled_checkpoint_equal_the_library_s_layer(path, vocab):
    _, model = load(path)
    ids = torch.from_numpy(encode_prompt("the the big red dog " * 20, vocab).input_ids)
    with torch.no_grad():
        details = model.forward_details(ids)
        out, weights = library_attention(model, details["E"])
    torch.testing.assert_close(details["weights"], weights, atol=1e-5, rtol=0)
    torch.testing.assert_close(details["contextual"], details["E"] + out, atol=ROUNDING, rtol=0)


@pytest.mark.parametrize("path", CHECKPOINTS, ids=lambda path: path.stem)
def test_each_checkpoint_s_metadata_agrees_with_the_comparison(path, vocab):
    metadata, _ = load(path)
    group = path.stem.split("_seed")[0]
    runs = read_json(ARTIFACTS / "heads" / "comparison.json")["runs"][group]
    run = next(run for run in runs if run["seed"] == metadata["seed"])
    assert metadata["selected_step"] == run["selected_step"]
    assert metadata["validation_loss"] == run["validation_loss"]
    assert metadata["vocab_sha256"] == vocab.sha256
    assert metadata["data_sha256"] == read_json(ARTIFACTS / "corpus.json")["subset_sha256"]


def test_the_comparison_holds_every_run_and_its_own_aggregate():
    comparison = read_json(ARTIFACTS / "heads" / "comparison.json")
    others = (*KINDS, *(f"multihead_h{heads}" for heads in (2, 8, 16, 64)))
    seeds = {group: [11, 29, 47] for group in others} | SHARED_RUNS
    assert {group: [run["seed"] for run in runs] for group, runs in comparison["runs"].items()} == seeds
    for group, runs in comparison["runs"].items():
        assert comparison["aggregate"][group] == aggregate(runs)
        for run in runs:
            best = min(run["history"], key=lambda entry: entry["validation_loss"])
            assert (best["step"], best["validation_loss"]) == (run["selected_step"], run["validation_loss"])
        variant = Variant.of_group(group)
        assert {(run["heads"], run.get("kv_heads", run["heads"])) for run in runs} == {
            (variant.heads, variant.kv_heads)
        }
        expected = parameter_count(variant.kind, heads=variant.heads or 1, kv_heads=variant.kv_heads)
        assert {run["parameters"] for run in runs} == {expected}
        assert variant.kind == "mlp" or variant.shares or expected == 1_321_120


def test_the_ablation_was_measured_on_the_bundled_checkpoints():
    ablation = read_json(ARTIFACTS / "heads" / "ablation.json")
    comparison = read_json(ARTIFACTS / "heads" / "comparison.json")
    assert set(ablation["checkpoints"]) == {path.stem for path in ATTENTION}
    assert ablation["data_sha256"] == read_json(ARTIFACTS / "corpus.json")["subset_sha256"]
    for path in ATTENTION:
        entry = ablation["checkpoints"][path.stem]
        assert entry["sha256"] == sha256_file(path)
        runs = comparison["runs"][path.stem.split("_seed")[0]]
        expected = next(run["test_loss"] for run in runs if run["seed"] == entry["seed"])
        assert entry["loss"] == pytest.approx(expected, abs=1e-5)
        if entry["heads"] <= 4:
            assert len(entry["zero"]) == len(entry["mean"]) == 2 ** entry["heads"]
            nothing_on = entry["zero"][-1]["loss"] - entry["loss"]
            assert sum(entry["shapley_zero"]) == pytest.approx(nothing_on, abs=1e-9)


def test_the_profiles_were_measured_on_the_bundled_checkpoints_and_hold_no_text():
    profiles = read_json(ARTIFACTS / "heads" / "profiles.json")
    assert set(profiles["checkpoints"]) == {path.stem for path in ATTENTION}
    assert profiles["data_sha256"] == read_json(ARTIFACTS / "corpus.json")["subset_sha256"]
    for path in ATTENTION:
        entry = profiles["checkpoints"][path.stem]
        assert entry["sha256"] == sha256_file(path)
        for seen in map(Profile.from_json, entry["profiles"].values()):
            assert seen.heads == load(path)[1].heads
            for name in TARGETS:
                measure = seen.measures[name]
                assert ((measure.low <= measure.value) & (measure.value <= measure.high)).all()

    def texts(value):
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return {value} if isinstance(value, str) else set().union(*map(texts, parts))

    digests = {entry["sha256"] for entry in profiles["checkpoints"].values()}
    assert texts(profiles) == {*digests, profiles["split"], profiles["interval"], profiles["data_sha256"]}


def test_a_bundled_profile_is_what_the_test_stories_give(real_stories, vocab):
    from wordlm.data import corpus_from_stories, make_all_windows
    from wordlm.prepare_data import cut_subset

    windows = make_all_windows(corpus_from_stories(cut_subset(real_stories), "dgx"))["test"][0]
    _, model = load(ARTIFACTS / "heads" / "attention_seed11.npz")
    entry = read_json(ARTIFACTS / "heads" / "profiles.json")["checkpoints"]["attention_seed11"]
    stored, found = Profile.from_json(entry["profiles"][STORIES]), profile_of(model, Readings.of(windows), vocab)
    assert (stored.texts, stored.words) == (found.texts, found.words)
    for name, measure in found.measures.items():
        parts = ("value", "low", "high", *(("by_position",) if measure.by_position is not None else ()))
        for part in parts:
            # Five digits are stored; float32 sums may differ by less.
            assert getattr(stored.measures[name], part) == pytest.approx(getattr(measure, part), rel=1e-3)


def test_the_two_model_benchmark_is_part_of_the_comparison():
    comparison, benchmark = (read_json(ARTIFACTS / name) for name in ("heads/comparison.json", "benchmark.json"))
    assert list(benchmark["runs"]) == ["mlp", "attention"]
    for group in benchmark["runs"]:
        assert benchmark["runs"][group] == comparison["runs"][group]
        assert benchmark["aggregate"][group] == comparison["aggregate"][group]


def test_a_bundled_checkpoint_scores_the_published_test_loss(real_stories):
    """One of them, all 118,200 test targets."""
    from wordlm.data import corpus_from_stories, make_all_windows
    from wordlm.prepare_data import cut_subset
    from wordlm.training import evaluate

    windows = make_all_windows(corpus_from_stories(cut_subset(real_stories), "dgx"))
    metadata, model = load(ARTIFACTS / "heads" / "multihead_seed11.npz")
    runs = read_json(ARTIFACTS / "heads" / "comparison.json")["runs"]["multihead"]
    published = next(run["test_loss"] for run in runs if run["seed"] == metadata["seed"])
    assert evaluate(model, *windows["test"]) == pytest.approx(published, abs=1e-5)
