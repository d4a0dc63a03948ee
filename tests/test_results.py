import copy
import math
import statistics

import pandas as pd
import pytest

from wordlm.files import ARTIFACTS, read_json
from wordlm.results import (
    against_best,
    check_comparison,
    mean_interval,
    paired_differences,
    run_table,
    seed_difference,
    sharing_table,
    summary_table,
)
from wordlm.run_head_comparison import aggregate


def comparison() -> dict:
    runs = {}
    for group, heads, base in (("mlp", None, 3.7), ("attention", 1, 3.2), ("multihead", 4, 3.1)):
        runs[group] = [
            {
                "seed": seed,
                "heads": heads,
                "parameters": 10,
                "selected_step": 20,
                "validation_loss": base,
                "test_loss": base + place / 100,
                "test_perplexity": math.exp(base + place / 100),
                "runtime_seconds": 5.0 + place,
                "history": [{"step": 10, "validation_loss": base + 1}, {"step": 20, "validation_loss": base}],
            }
            for place, seed in enumerate((11, 29, 47))
        ]
    return {
        "runs": runs,
        "aggregate": {group: aggregate(group_runs) for group, group_runs in runs.items()},
        "environment": {"accelerator": "cpu"},
        "protocol": {"steps": 20},
        "baselines": {"uniform": {"test_loss": 8.0, "test_perplexity": 2981.0}},
    }


def test_what_the_command_writes_is_accepted():
    assert check_comparison(comparison()) == comparison()


def remove(*path):
    def change(value):
        for key in path[:-1]:
            value = value[key]
        del value[path[-1]]

    return change


def put(new, *path):
    def change(value):
        for key in path[:-1]:
            value = value[key]
        value[path[-1]] = new

    return change


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (remove("runs"), "runs is missing"),
        (put([], "runs"), "runs: expected object, got array"),
        (put({}, "runs"), "runs is empty"),
        (put([], "runs", "mlp"), "runs.mlp is empty"),
        (remove("aggregate", "attention"), "aggregate.attention is missing"),
        (put(8, "runs", "multihead", 1, "heads"), "runs.multihead holds runs of different numbers of heads"),
        (lambda value: [run.update(heads=4) for run in value["runs"]["mlp"]], "runs.mlp[0].heads must be null"),
        (
            lambda value: [run.update(heads=4) for run in value["runs"]["attention"]],
            "runs.attention[0].heads must be 1",
        ),
        (remove("environment"), "environment is missing"),
        (remove("runs", "mlp", 1, "test_loss"), "runs.mlp[1].test_loss is missing"),
        (put("3.7", "runs", "mlp", 0, "test_loss"), "runs.mlp[0].test_loss: expected float, got str"),
        (put(math.nan, "runs", "mlp", 0, "test_loss"), "runs.mlp[0].test_loss: expected float >= 0.0"),
        (put(math.inf, "runs", "mlp", 0, "runtime_seconds"), "runs.mlp[0].runtime_seconds: expected float <= 1.79"),
        (put(True, "runs", "mlp", 0, "seed"), "runs.mlp[0].seed: expected int, got bool"),
        (put(29, "runs", "mlp", 0, "seed"), "runs.mlp has a seed twice"),
        (put("four", "runs", "multihead", 0, "heads"), "runs.multihead[0].heads: expected int | null, got str"),
        (put(3, "runs", "mlp", 0, "history"), "runs.mlp[0].history: expected array, got int"),
        (remove("runs", "mlp", 0, "history", 1, "step"), "runs.mlp[0].history[1].step is missing"),
        (put(None, "aggregate", "mlp", "test_loss", "mean"), "aggregate.mlp.test_loss.mean: expected float, got null"),
        (
            put("x", "aggregate", "mlp", "test_loss", "sample_std"),
            "aggregate.mlp.test_loss.sample_std: expected float | null, got str",
        ),
        (put(3, "baselines", "uniform"), "baselines.uniform: expected object, got int"),
        (put([], "baselines"), "baselines: expected object, got array"),
        (put(None, "baselines"), "baselines: expected object, got null"),
        (remove("runs", "mlp", 0, "heads"), "runs.mlp[0].heads is missing"),
        (put(10**400, "runs", "mlp", 0, "test_loss"), "runs.mlp[0].test_loss: number out of range"),
        (put(10**30, "runs", "mlp", 0, "seed"), "runs.mlp[0].seed: expected int <= 9007199254740991"),
        (put(10**30, "runs", "mlp", 0, "heads"), "runs.mlp[0]: heads must be at least 1 and divide d_model=64"),
        (put(0, "runs", "multihead", 0, "heads"), "runs.multihead[0].heads: expected int >= 1"),
        (remove("aggregate", "mlp", "test_loss", "sample_std"), "aggregate.mlp.test_loss.sample_std is missing"),
        (remove("runs", "mlp"), "aggregate.mlp has no runs"),
        (put(1e9, "runs", "mlp", 0, "test_loss"), "runs.mlp[0].test_loss: expected float < 100.0"),
    ],
)
def test_a_malformed_comparison_is_refused_with_the_field_that_is_wrong(change, field):
    value = comparison()
    change(value)
    with pytest.raises(ValueError) as error:
        check_comparison(value)
    assert field in str(error.value)


@pytest.mark.parametrize("value", [None, 3, "text", [1]])
def test_another_kind_of_file_is_refused(value):
    with pytest.raises(ValueError, match="the file: expected object, got"):
        check_comparison(value)


def test_the_summary_gives_mean_and_sample_deviation():
    table = summary_table(comparison()).set_index("model")
    assert list(table.index) == ["MLP", "1 head", "4 heads"]
    assert table.loc["1 head", "test loss"] == "3.2100 ± 0.0100"  # the population's deviation would be 0.0082
    assert table.loc["MLP", "selected steps"] == "20, 20, 20"
    assert table.loc["MLP", "seeds"] == "3"


def test_missing_runs_are_shown_as_missing():
    value = comparison()
    value["runs"]["attention"] = value["runs"]["attention"][:1]
    value["aggregate"]["attention"] = aggregate(value["runs"]["attention"])
    table = summary_table(value).set_index("model")
    assert table.loc["1 head", "seeds"] == "1 of 3"
    assert table.loc["1 head", "test loss"] == "3.2000"
    assert len(run_table(value)) == 7
    assert paired_differences(value, "multihead", "attention")["seed"].tolist() == [11]


def test_differences_are_paired_by_seed_not_by_place():
    value = copy.deepcopy(comparison())
    value["runs"]["multihead"].reverse()
    pairs = paired_differences(value, "multihead", "attention")
    assert pairs["seed"].tolist() == [11, 29, 47]
    assert pairs["difference"].tolist() == pytest.approx([-0.1] * 3)


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    # Student's t, 97.5 %: the NIST/SEMATECH handbook of statistical methods, section 1.3.6.7.2.
    [(1, 12.706), (2, 4.303), (3, 3.182), (5, 2.571), (10, 2.228), (30, 2.042)],
)
def test_the_interval_is_as_wide_as_the_published_quantile_says(freedom, quantile):
    values = [0.1 * place**2 for place in range(freedom + 1)]
    mean, low, high = mean_interval(values)
    half = quantile * statistics.stdev(values) / math.sqrt(len(values))
    assert (mean - low, high - mean) == (pytest.approx(half, rel=5e-4), pytest.approx(half, rel=5e-4))


def test_the_interval_of_three_values_is_worked_by_hand():
    mean, low, high = mean_interval([1.0, 2.0, 4.0])
    half = 4.3027 * (7 / 3) ** 0.5 / 3**0.5
    assert (mean, low, high) == (
        pytest.approx(7 / 3),
        pytest.approx(7 / 3 - half, abs=1e-3),
        pytest.approx(7 / 3 + half, abs=1e-3),
    )


def runs_of(losses: dict[int, list[float]]) -> pd.DataFrame:
    rows = [(heads, heads, seed, loss) for heads, of_seed in losses.items() for seed, loss in enumerate(of_seed)]
    return pd.DataFrame(rows, columns=["heads", "kv heads", "seed", "test loss"])


def test_the_best_head_count_is_told_from_another_only_where_the_paired_interval_leaves_out_zero():
    # The seeds differ by 1, and 2 heads by a steady 0.1 from 8: paired, that is decided. 4 heads win and lose.
    runs = runs_of({2: [3.1, 4.1, 5.11], 4: [3.2, 3.9, 5.05], 8: [3.0, 4.0, 5.0]})
    table = against_best(runs).set_index("heads")
    assert table["best"].unique().tolist() == [8]
    assert table["decided"].to_dict() == {2: True, 4: False}
    mean, low, high = mean_interval([0.1, 0.1, 0.11])
    assert table.loc[2, ["difference", "from", "to"]].tolist() == pytest.approx([mean, low, high])


def with_sharing() -> dict:
    """Four heads, and the same with two sets of keys and values, whose loss is 0.02, 0.03 and 0.02 above theirs."""
    value = comparison()
    whole = value["runs"]["multihead"]
    value["runs"]["multihead_kv2"] = [
        run | {"kv_heads": 2, "parameters": 8, "test_loss": run["test_loss"] + more}
        for run, more in zip(whole, (0.02, 0.03, 0.02), strict=True)
    ]
    value["aggregate"]["multihead_kv2"] = aggregate(value["runs"]["multihead_kv2"])
    return value


def test_runs_that_share_keys_and_values_are_named_by_both_numbers_and_stand_before_those_that_do_not():
    value = check_comparison(with_sharing())
    assert list(summary_table(value)["model"]) == ["MLP", "1 head", "4 heads, 2 kv", "4 heads"]
    table = run_table(value)
    assert table["heads"].tolist()[3:] == [1] * 3 + [4] * 6
    assert table["kv heads"].tolist()[3:] == [1] * 3 + [2] * 3 + [4] * 3
    assert table["kv heads"].isna().tolist() == [True] * 3 + [False] * 9


def test_the_best_head_count_is_sought_among_models_that_differ_in_nothing_else():
    value = with_sharing()
    for run in value["runs"]["multihead_kv2"]:
        run["test_loss"] = 1.0
    table = against_best(run_table(value))
    assert (table["heads"].tolist(), table["best"].tolist()) == ([1], [4])
    assert table["difference"].tolist() == pytest.approx([0.1])


def test_what_sharing_costs_is_paired_by_seed_with_the_same_heads_that_share_nothing():
    value = with_sharing()
    value["runs"]["multihead_kv2"].reverse()
    (row,) = sharing_table(value).to_dict("records")
    mean, low, high = mean_interval([0.02, 0.03, 0.02])
    assert (row["model"], row["parameters"], row["seeds"], row["decided"]) == ("4 heads, 2 kv", 8, 3, True)
    # Two sets of a key and a value of 16 numbers of 4 bytes, where four heads of their own keep 512 bytes.
    assert (row["cache, bytes a word"], row["times smaller"]) == (2 * 2 * 16 * 4, 2)
    assert [row["difference"], row["from"], row["to"]] == pytest.approx([mean, low, high])


@pytest.mark.parametrize(("seeds", "difference"), [(1, 0.02), (0, math.nan)])
def test_without_two_common_seeds_nothing_is_decided_about_sharing(seeds, difference):
    value = with_sharing()
    value["runs"]["multihead_kv2"] = value["runs"]["multihead_kv2"][:1]
    value["runs"]["multihead"] = value["runs"]["multihead"][1 - seeds :]
    (row,) = sharing_table(value).to_dict("records")
    assert (row["seeds"], row["decided"]) == (seeds, False)
    assert [row["difference"], row["from"], row["to"]] == pytest.approx([difference, math.nan, math.nan], nan_ok=True)


def test_a_comparison_in_which_nothing_is_shared_has_nothing_to_say_of_it():
    assert sharing_table(comparison()).empty


@pytest.mark.parametrize(
    ("kv_heads", "said"),
    [
        (0, ".kv_heads: expected int >= 1"),
        (3, ": kv_heads must be at least 1 and divide heads=4, got kv_heads=3"),
        (8, ": kv_heads must be at least 1 and divide heads=4, got kv_heads=8"),
        (1.0, ".kv_heads: expected int, got float"),
        (True, ".kv_heads: expected int, got bool"),
        (None, ".kv_heads: expected int, got null"),
    ],
)
def test_keys_and_values_that_the_heads_cannot_share_are_refused_by_their_field(kv_heads, said):
    value = with_sharing()
    value["runs"]["multihead_kv2"][1]["kv_heads"] = kv_heads
    with pytest.raises(ValueError) as error:
        check_comparison(value)
    assert str(error.value) == f"runs.multihead_kv2[1]{said}"


def test_heads_that_the_width_of_our_models_cannot_be_shared_out_among_are_refused():
    value = with_sharing()
    for run in value["runs"]["multihead_kv2"]:
        run |= {"heads": 6, "kv_heads": 3}
    with pytest.raises(ValueError, match=r"^runs\.multihead_kv2\[0\]: heads must be at least 1 and divide d_model=64"):
        check_comparison(value)


def test_as_many_keys_and_values_as_heads_may_be_said_or_left_out():
    value = comparison()
    value["runs"]["multihead"][1]["kv_heads"] = 4
    assert check_comparison(value) is value


@pytest.mark.parametrize("heads", [0, 6, 128, 2**52])
def test_heads_that_the_embeddings_cannot_be_shared_out_among_are_refused_by_their_field(heads):
    value = with_sharing()
    for run in value["runs"]["multihead_kv2"]:
        run |= {"heads": heads, "kv_heads": heads // 2}
    with pytest.raises(ValueError, match=r"runs\.multihead_kv2\[0\]"):
        check_comparison(value)


def test_a_group_of_two_ways_to_share_is_refused():
    value = with_sharing()
    value["runs"]["multihead_kv2"][1]["kv_heads"] = 1
    with pytest.raises(ValueError, match=r"runs\.multihead_kv2 holds runs of different numbers of heads"):
        check_comparison(value)


def test_a_head_count_without_two_common_seeds_is_not_held_against_the_best():
    runs = runs_of({2: [3.1], 8: [3.0, 4.0 - 2, 5.0 - 3]})
    assert against_best(runs).empty
    assert against_best(runs_of({1: [3.0, 3.1]})).empty
    assert against_best(runs_of({})).empty


def test_the_difference_that_a_seed_makes_is_the_largest_between_two_runs_of_one_model():
    losses = {"mlp": [4.0, 4.5, 4.2], "attention": [3.0, 3.1], "multihead": [2.0]}
    runs = {group: [{"validation_loss": loss} for loss in those] for group, those in losses.items()}
    assert seed_difference({"runs": runs}) == pytest.approx(0.5)
    stored = read_json(ARTIFACTS / "heads" / "comparison.json")
    assert 0.02 < seed_difference(stored) < 0.05
