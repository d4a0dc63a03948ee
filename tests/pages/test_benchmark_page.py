"""The Benchmark page without a browser: every figure comes from the JSON."""

import json

import numpy as np
import pytest

from tests.pages.screen import array
from wordlm.files import ARTIFACTS, read_json, write_json
from wordlm.results import in_order, summary_table
from wordlm.run_head_comparison import aggregate


@pytest.fixture
def ours():
    return read_json(ARTIFACTS / "heads" / "comparison.json")


@pytest.fixture
def changed_artifacts(monkeypatch, tmp_path, ours):
    """Show another `comparison.json` in the place of the bundled one."""

    def change(edit) -> dict:
        edit(ours)
        for group, runs in ours["runs"].items():
            ours["aggregate"][group] = aggregate(runs)
        write_json(tmp_path / "heads" / "comparison.json", ours)
        for name in ("course.json", "vocab.json"):
            (tmp_path / name).write_bytes((ARTIFACTS / name).read_bytes())
        monkeypatch.setattr("wordlm.files.ARTIFACTS", tmp_path)
        # The models of the shared controls are not read on this page.
        return ours

    return change


def test_the_summary_is_that_of_the_file(open_page, ours):
    shown = open_page("benchmark").table("Test loss, perplexity and seconds of each model")
    assert shown.to_dict() == summary_table(ours).to_dict()
    mean = sum(run["test_loss"] for run in ours["runs"]["multihead"]) / 3
    assert f"{mean:.4f} ± " in shown.set_index("model").loc["4 heads", "test loss"]


def test_another_file_gives_another_page(open_page, changed_artifacts):
    def edit(comparison):
        comparison["runs"]["multihead"][0]["test_loss"] = 1.2345

    changed = changed_artifacts(edit)
    screen = open_page("benchmark")
    runs = screen.table("Test loss of every run")
    assert 1.2345 in runs["test loss"].tolist()
    points = [y for trace in screen.figure("runs")["data"] for y in array(trace["y"])]
    assert 1.2345 in points
    assert sorted(points) == pytest.approx(sorted(runs["test loss"]))
    mean = changed["aggregate"]["multihead"]["test_loss"]["mean"]
    assert (
        f"{mean:.4f}"
        in screen.table("Test loss, perplexity and seconds").set_index("model").loc["4 heads", "test loss"]
    )
    pairs = screen.table("Test losses of four heads and one head by seed")
    assert pairs["multihead"][0] == 1.2345
    curve = screen.figure("head_curve")["data"][0]
    assert mean == pytest.approx(array(curve["y"])[list(array(curve["x"])).index(4)])


def test_missing_runs_are_said_to_be_missing(open_page, changed_artifacts):
    def edit(comparison):
        comparison["runs"]["multihead"] = comparison["runs"]["multihead"][:1]

    changed_artifacts(edit)
    screen = open_page("benchmark")
    assert "Some runs are missing" in screen.text
    assert "these runs are missing" in screen.text
    table = screen.table("Test loss, perplexity and seconds").set_index("model")
    assert table.loc["4 heads", "seeds"] == "1 of 3"


def test_every_run_s_curve_has_its_kept_step_marked(open_page, ours):
    traces = open_page("benchmark").figure("curves")["data"]
    runs = [run for _, group in in_order(ours["runs"]) for run in group]
    assert len(traces) == len(runs)
    for trace, run in zip(traces, runs, strict=True):
        starred = [
            x for x, symbol in zip(array(trace["x"]), trace["marker"]["symbol"], strict=True) if symbol == "star"
        ]
        assert starred == [run["selected_step"]]
        np.testing.assert_allclose(array(trace["y"]), [entry["validation_loss"] for entry in run["history"]])


def test_the_course_s_results_stand_apart_and_gaps_are_compared(open_page, ours):
    screen = open_page("benchmark")
    assert screen.table("The course's published results")["test loss"].tolist() == [
        "3.9433 ± 0.0077",
        "3.4450 ± 0.0105",
        "3.3597 ± 0.0212",
    ]
    gaps = screen.table("Differences of test losses").set_index("difference of test losses")
    mean = {group: ours["aggregate"][group]["test_loss"]["mean"] for group in ("mlp", "attention", "multihead")}
    assert gaps.loc["4 heads − 1 head", "here"] == pytest.approx(mean["multihead"] - mean["attention"])
    assert gaps.loc["4 heads − 1 head", "course"] == pytest.approx(3.3597 - 3.4450)
    assert "levels of loss may not be compared" in screen.text


def test_the_baselines_are_those_of_the_file(open_page, ours):
    table = open_page("benchmark").table("Test loss of counting words").set_index("model")
    for name in ("uniform", "unigram", "bigram", "trigram"):
        assert table.loc[name, "test loss"] == ours["baselines"][name]["test_loss"]


def test_conditions_are_those_of_the_file(open_page, ours):
    screen = open_page("benchmark")
    for alt, part in (("The machine and the versions", "environment"), ("The settings of every run", "protocol")):
        table = screen.table(alt)
        assert dict(zip(table["field"], table["value"], strict=True)) == {k: str(v) for k, v in ours[part].items()}


def upload(screen, content: bytes):
    screen.app.file_uploader(key="own").set_value(("comparison.json", content, "application/json")).run()
    assert not screen.app.exception
    return screen


def test_an_uploaded_comparison_is_kept_while_the_visitor_is_on_another_page(open_page, ours):
    screen = open_page("benchmark")
    upload(screen, json.dumps(ours).encode())
    screen.app.segmented_control(key="source").set_value("yours").run()
    screen.app.switch_page("pages/perplexity.py").run()
    screen.app.switch_page("pages/benchmark.py").run()
    assert screen.app.segmented_control(key="source").value == "yours"
    assert "comparison.json is still here" in screen.text.replace("\\", "")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_an_uploaded_comparison_with_a_byte_order_mark_is_read(open_page, ours, encoding):
    screen = upload(open_page("benchmark"), json.dumps(ours).encode(encoding))
    assert not screen.app.error
    assert "yours" in screen.app.segmented_control(key="source").options


def test_an_uploaded_comparison_is_seen_in_the_same_views(open_page, ours):
    ours["runs"]["attention"][0]["test_loss"] = 2.5
    ours["aggregate"]["attention"] = aggregate(ours["runs"]["attention"])
    screen = upload(open_page("benchmark"), json.dumps(ours).encode())
    table = screen.table("Test loss of every run").set_index("model")
    assert table.loc["1 head (yours)", "test loss"].iloc[0] == 2.5
    assert 2.5 not in table.loc["1 head", "test loss"].tolist()
    assert {"4 heads", "4 heads (yours)"} <= set(screen.table("Test loss, perplexity and seconds")["model"])
    assert {trace["name"] for trace in screen.figure("head_curve")["data"]} == {
        "mean",
        "one seed",
        "mean (yours)",
        "one seed (yours)",
    }
    screen.app.button_group(key="source").set_value("yours").run()
    assert 2.5 in screen.table("Test loss of every run")["test loss"].tolist()
    screen.app.button_group(key="source").set_value("ours").run()
    assert 2.5 not in screen.table("Test loss of every run")["test loss"].tolist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is no JSON text"),
        (b"\xff\xfe", "is no JSON text"),
        (b"[" * 100_000, "is no JSON text"),
        (b"[]", "the file: expected object, got array"),
        (b'{"runs": {}}', "aggregate is missing"),
        (b'{"runs": {"<b>$x$": []}, "aggregate": {}, "environment": {}, "protocol": {}}', "is empty"),
    ],
)
def test_a_malformed_upload_is_refused_and_ours_stays(open_page, content, message):
    screen = upload(open_page("benchmark"), content)
    assert message in screen.app.error[0].value.replace("\\", "")
    assert len(screen.table("Test loss of every run"))


def sharing_nothing(ours) -> list[list[dict]]:
    return [runs for runs in ours["runs"].values() if "kv_heads" not in runs[0]]


def paired_by_hand(ours, heads, best):
    """Mean and 95 % interval of the seeds' differences; 4.303 is Student's quantile for two degrees of freedom."""
    losses = {runs[0]["heads"]: {r["seed"]: r["test_loss"] for r in runs} for runs in sharing_nothing(ours)}
    differences = np.array([losses[heads][seed] - losses[best][seed] for seed in (11, 29, 47)])
    half = 4.303 * differences.std(ddof=1) / 3**0.5
    return differences.mean(), differences.mean() - half, differences.mean() + half


def test_what_is_decided_about_head_counts_is_what_the_paired_intervals_say(open_page, ours):
    screen = open_page("benchmark")
    means = {runs[0]["heads"]: np.mean([r["test_loss"] for r in runs]) for runs in sharing_nothing(ours)}
    means.pop(None)
    best = min(means, key=means.get)
    assert f"The lowest mean test loss is {means[best]:.4f}, with {best} heads" in screen.text
    table = screen.table("minus that of the best").set_index("heads")
    assert sorted(table.index) == sorted(set(means) - {best})
    undecided = []
    for heads in table.index:
        by_hand = paired_by_hand(ours, heads, best)
        assert table.loc[heads, ["difference", "from", "to"]].tolist() == pytest.approx(by_hand, abs=1e-5)
        if by_hand[1] <= 0 <= by_hand[2]:
            undecided.append(str(heads))
    assert (best, "8" in undecided) == (16, True), "16 heads against 8 is undecided with three seeds"
    assert f"Against {', '.join(undecided[:-1])} and {undecided[-1]} heads it is undecided" in screen.text
    assert "the loss with 16 heads is lower than with 1 head: the 95 % interval" in screen.text


@pytest.fixture
def with_sharing(changed_artifacts):
    """Show runs of 8 heads with 1 set of keys and values and with 2, whose losses differ from the others' as said."""

    def change(differences: dict[int, list[float]]) -> None:
        def edit(comparison):
            comparison["runs"] = {g: runs for g, runs in comparison["runs"].items() if "kv_heads" not in runs[0]}
            comparison["aggregate"] = {g: comparison["aggregate"][g] for g in comparison["runs"]}
            for kv_heads, more in differences.items():
                comparison["runs"][f"multihead_h8_kv{kv_heads}"] = [
                    run | {"kv_heads": kv_heads, "test_loss": run["test_loss"] + difference}
                    for run, difference in zip(comparison["runs"]["multihead_h8"], more, strict=False)
                ]

        changed_artifacts(edit)

    return change


def test_sharing_is_held_against_the_same_heads_by_seed_and_drawn_against_the_bytes_of_a_cache(open_page, with_sharing):
    with_sharing({1: [0.02, 0.03, 0.02], 2: [0.01, -0.03, 0.01]})
    screen = open_page("benchmark")
    table = screen.table("minus that with a set for each head").set_index("model")
    assert table["cache, bytes a word"].to_dict() == {"8 heads, 1 kv": 64, "8 heads, 2 kv": 128}
    assert table["times smaller"].to_dict() == {"8 heads, 1 kv": 8, "8 heads, 2 kv": 4}
    assert "Sharing raises the loss of 8 heads, 1 kv, +0.0233 (+0.0090 to +0.0377)." in screen.text
    assert "Undecided, since the interval holds 0: 8 heads, 2 kv, −0.0033 (−0.0607 to +0.0540)." in screen.text
    means, marks = screen.figure("sharing")["data"]
    assert array(means["x"]).tolist() == [64, 128, 512]
    runs = screen.table("Test loss of every run")
    of_eight = runs[runs["heads"] == 8]
    assert sorted(array(marks["y"])) == pytest.approx(sorted(of_eight["test loss"]))
    assert sorted(array(marks["x"])) == [64] * 3 + [128] * 3 + [512] * 3


def test_sharing_of_one_seed_decides_nothing_and_without_any_there_is_no_picture(open_page, with_sharing):
    with_sharing({1: [0.02]})
    screen = open_page("benchmark")
    assert "so nothing can be said" in screen.text
    assert "Fewer than three seeds were trained of 8 heads, 1 kv." in screen.text


def test_a_comparison_in_which_nothing_is_shared_says_so(open_page, with_sharing):
    with_sharing({})
    screen = open_page("benchmark")
    assert "No run shown here shares keys and values." in screen.text
    assert not [chart for chart in screen.app.get("plotly_chart") if "bytes" in str(chart.proto.spec)]


def test_a_clear_gap_and_an_open_one_are_told_apart_in_words(open_page, changed_artifacts):
    def edit(comparison):
        for group, runs in comparison["runs"].items():
            for run in runs:
                run["test_loss"] += 1.0 * (group != "multihead")

    changed_artifacts(edit)
    text = open_page("benchmark").text
    assert "Paired by seed, the loss with 4 heads is lower than with 1, 2, 8, 16 and 64 heads" in text
    assert "it is undecided" not in text


def test_the_interval_says_what_it_rests_on(open_page):
    text = open_page("benchmark").text
    assert "independent from seed to seed and roughly normally distributed" in text


def test_only_the_summary_is_a_table_until_numbers_are_asked_for(open_page):
    screen = open_page("benchmark")
    assert [frame.proto.alt[:9] for frame in screen.app.dataframe] == ["Test loss"]
    screen.open_numbers()
    assert len(screen.app.dataframe) == 12


def test_the_take_away_holds_every_table_of_the_page(open_page, ours, with_sharing):
    from wordlm.ui.state.resources import course_results
    from wordlm.ui.views import benchmark as view

    with_sharing({1: [0.02, 0.03, 0.02]})
    screen = open_page("benchmark")
    screen.open_numbers()
    alts = ("minus that of the best", "four heads and one head", "minus that with a set for each head")
    tables, figures = view.collect(course_results(), ours, *map(screen.table, alts))
    shown = {tuple(frame.value.columns) for frame in screen.app.dataframe}
    kept = {tuple(table.drop(columns="yours", errors="ignore").columns) for table in tables.values()}
    assert shown == kept
    assert len(figures) == len(screen.app.get("plotly_chart"))
