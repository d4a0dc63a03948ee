"""The README says what the files say."""

import re

from wordlm.files import ARTIFACTS, REPOSITORY, read_json
from wordlm.results import METRICS, mean_and_deviation, mean_interval, paired_differences, sharing_table

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def signed(number: float) -> str:
    return f"{number:+.4f}".replace("-", "−")


def test_the_results_table_is_that_of_the_comparison():
    comparison = read_json(ARTIFACTS / "heads" / "comparison.json")
    for group, runs in comparison["runs"].items():
        cells = [
            mean_and_deviation(comparison["aggregate"][group][metric], digits) for metric, digits in METRICS.items()
        ]
        cells.append(", ".join(str(run["selected_step"]) for run in runs))
        assert f"| {' | '.join(cells)} |" in README, group


def test_the_paired_difference_and_the_baselines_are_those_of_the_comparison():
    comparison = read_json(ARTIFACTS / "heads" / "comparison.json")
    differences = paired_differences(comparison, "multihead", "attention")["difference"].tolist()
    mean, low, high = (signed(value) for value in mean_interval(differences))
    words = " ".join(README.split())
    assert f"{mean} nats per token on average (95 % interval {low} to {high})" in words
    assert f"{mean} here" in words
    for name in ("unigram", "bigram", "trigram"):
        assert f"{comparison['baselines'][name]['test_loss']:.4f}" in words


def test_what_sharing_keys_and_values_costs_is_that_of_the_comparison():
    table = sharing_table(read_json(ARTIFACTS / "heads" / "comparison.json"))
    assert len(table)
    for row in table.to_dict("records"):
        interval = f" ({signed(row['from'])} to {signed(row['to'])})" if row["seeds"] > 1 else ""
        told = [row["model"], f"{row['parameters']:,}", row["cache, bytes a word"], row["seeds"]]
        assert f"| {' | '.join(map(str, told))} | {signed(row['difference'])}{interval} |" in README


def test_the_course_s_table_is_that_of_its_file():
    course = read_json(ARTIFACTS / "course.json")
    for entry in course["aggregate"].values():
        cells = [mean_and_deviation(entry[metric], digits) for metric, digits in METRICS.items()]
        assert f"| {' | '.join(cells)} | {', '.join(map(str, entry['selected_steps']))} |" in README


def test_every_file_that_the_readme_points_to_is_there():
    for path in re.findall(r"\]\(([^)h][^)]*)\)", README) + re.findall(
        r"^    ((?:wordlm|tests|pages|artifacts)/\S*)", README, re.M
    ):
        assert (REPOSITORY / path).exists(), path


def test_parameters_are_called_parameters_and_said_to_be_as_many():
    words = " ".join(README.split())
    assert "All attention models have the same number of parameters" in words
    assert "the vocabulary, the parameters, the measures and the digests" in words
