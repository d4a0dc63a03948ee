"""Reading a `comparison.json`: its tables, its paired differences, and what is wrong with a malformed one."""

import json
import math
import statistics
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
import pandas as pd
from scipy.special import stdtrit

from wordlm.course import cache_bytes_of
from wordlm.models import D_MODEL, shared_width
from wordlm.numbers import signed
from wordlm.schemas import Count, Finite, Loss, checked, checked_each
from wordlm.variants import MLP, Variant

METRICS = {"test_loss": 4, "test_perplexity": 4, "runtime_seconds": 2}
"""The aggregated metrics and their decimals."""
_HEADS_OF = {"mlp": None, "attention": 1}
_Heads = Annotated[int, msgspec.Meta(ge=1)]


class _Step(msgspec.Struct):
    step: Finite
    validation_loss: Loss


class _Run(msgspec.Struct):
    seed: Count
    heads: _Heads | None
    parameters: Count
    selected_step: Count
    validation_loss: Loss
    test_loss: Loss
    test_perplexity: Finite
    runtime_seconds: Finite
    kv_heads: _Heads | msgspec.UnsetType = msgspec.UNSET
    history: list[_Step] = []

    @property
    def variant(self) -> Variant:
        return Variant.with_heads(self.heads, self.kv_heads or None)

    def __post_init__(self) -> None:
        if self.heads is not None:
            shared_width(D_MODEL, self.heads, self.kv_heads or None)
        elif self.kv_heads:
            raise ValueError("kv_heads are given without heads")


class _LossOverSeeds(msgspec.Struct):
    mean: Loss
    sample_std: Finite | None


class _OverSeeds(msgspec.Struct):
    mean: Finite
    sample_std: Finite | None


class _Summary(msgspec.Struct):
    """Each of `METRICS`."""

    test_loss: _LossOverSeeds
    test_perplexity: _OverSeeds
    runtime_seconds: _OverSeeds


class _CourseSummary(_Summary):
    selected_steps: list[Count]


class _Course(msgspec.Struct):
    aggregate: dict[str, Any]


class _Baseline(msgspec.Struct):
    test_loss: Loss
    test_perplexity: Finite


class _Comparison(msgspec.Struct):
    runs: dict[str, Any]
    aggregate: dict[str, Any]
    environment: dict[str, Any]
    protocol: dict[str, Any]
    baselines: dict[str, Any] = {}


def check_comparison(value: Any) -> dict[str, Any]:
    """Return `value` if it has the form that `run_head_comparison` writes; else a `ValueError` names the field."""
    parts = checked(value, _Comparison)
    _expect(bool(parts.runs), "runs", "is empty")
    checked_each(parts.aggregate, _Summary, "aggregate")
    checked_each(parts.baselines, _Baseline, "baselines")
    for group, runs in checked_each(parts.runs, list[_Run], "runs").items():
        where = f"runs.{group}"
        _expect(bool(runs), where, "is empty")
        heads = runs[0].heads
        _expect(len({run.variant for run in runs}) == 1, where, "holds runs of different numbers of heads")
        wanted = _HEADS_OF.get(group, heads)
        _expect(heads == wanted, f"{where}[0].heads", f"must be {json.dumps(wanted)}")
        _expect(len({run.seed for run in runs}) == len(runs), where, "has a seed twice")
        _expect(group in parts.aggregate, f"aggregate.{group}", "is missing")
    for group in parts.aggregate:
        _expect(group in parts.runs, f"aggregate.{group}", "has no runs")
    return value


def check_course(value: Any) -> dict[str, Any]:
    """Return `value` if it has the form of `course.json`; else a `ValueError` names the field."""
    checked_each(checked(value, _Course).aggregate, _CourseSummary, "aggregate")
    return value


def _expect(holds: bool, where: str, wrong: str) -> None:
    if not holds:
        raise ValueError(f"{where} {wrong}")


YOURS = " (yours)"
"""Ends the names of a visitor's groups beside ours; that they are the visitor's stands in each run."""


def beside(ours: dict[str, Any], yours: dict[str, Any]) -> dict[str, Any]:
    """Return one comparison of both; the runs of `yours` say so, and the names of their groups end in a mark."""
    marked = {part: {name + YOURS: value for name, value in yours.get(part, {}).items()} for part in _PARTS}
    marked["runs"] = {group: [run | {"yours": True} for run in runs] for group, runs in marked["runs"].items()}
    return {part: ours.get(part, {}) | marked[part] for part in _PARTS}


_PARTS = ("runs", "aggregate", "environment", "protocol", "baselines")


def is_yours(runs: list[dict]) -> bool:
    """Whether the runs of a group are the visitor's."""
    return runs[0].get("yours", False)


def variant_of_run(run: dict) -> Variant:
    """Return what was trained in a run."""
    return Variant.with_heads(run["heads"], run.get("kv_heads"))


def group_title(group: str, runs: list[dict]) -> str:
    """Return a group in words: "MLP", "1 head", "4 heads (yours)"; one that is none of ours by its own name."""
    mark, variant = YOURS if is_yours(runs) else "", variant_of_run(runs[0])
    name = group.removesuffix(mark)
    return (name if variant == MLP and name != MLP.group else variant.title) + mark


def mean_and_deviation(entry: dict[str, float | None], digits: int) -> str:
    """Return "3.1283 ± 0.0093", without the deviation where one run leaves it undefined."""
    spread = "" if entry["sample_std"] is None else f" ± {entry['sample_std']:.{digits}f}"
    return f"{entry['mean']:.{digits}f}{spread}"


def metric_cells(aggregate: dict[str, dict]) -> dict[str, str]:
    """Return each aggregated metric of one model in words, by its name on screen."""
    return {
        metric.replace("_", " "): mean_and_deviation(aggregate[metric], digits) for metric, digits in METRICS.items()
    }


def listed(steps: Iterable[int]) -> str:
    """Return "5250, 6000, 5250"."""
    return ", ".join(map(str, steps))


def in_order(runs: dict[str, list[dict]]) -> list[tuple[str, list[dict]]]:
    """Return the groups from the MLP to the most heads, those marked as yours last."""
    return sorted(runs.items(), key=lambda item: (is_yours(item[1]), variant_of_run(item[1][0])))


def summary_table(comparison: dict[str, Any], expected_seeds: int = 3) -> pd.DataFrame:
    """Return one row per model: seeds, mean and sample deviation of each metric, selected steps, parameters.

    `seeds` reads "2 of 3" where runs are missing; a deviation of one run is undefined (None).
    """
    rows = []
    for group, runs in in_order(comparison["runs"]):
        row: dict[str, Any] = {"model": group_title(group, runs)}
        row["seeds"] = str(len(runs)) if len(runs) >= expected_seeds else f"{len(runs)} of {expected_seeds}"
        row |= metric_cells(comparison["aggregate"][group])
        row["selected steps"] = listed(run["selected_step"] for run in runs)
        row["parameters"] = f"{runs[0]['parameters']:,}"
        rows.append(row)
    return pd.DataFrame(rows)


def run_table(comparison: dict[str, Any]) -> pd.DataFrame:
    """Return one row per run.

    Columns: `model`, `heads`, `kv heads` (sets of keys and values, as many as heads where none are shared), `seed`,
    `selected step`, losses, perplexity, seconds, `yours`.
    """
    table = pd.DataFrame(
        [
            {
                "model": group_title(group, runs),
                "heads": run["heads"],
                "kv heads": variant_of_run(run).kv_heads,
                "seed": run["seed"],
                "selected step": run["selected_step"],
                "validation loss": run["validation_loss"],
                "test loss": run["test_loss"],
                "test perplexity": run["test_perplexity"],
                "seconds": run["runtime_seconds"],
                "yours": is_yours(runs),
            }
            for group, runs in in_order(comparison["runs"])
            for run in runs
        ]
    )
    return table.astype({"heads": "Int64", "kv heads": "Int64"})  # the MLP has none


def seed_difference(comparison: dict) -> float:
    """Return the largest difference of validation losses that another seed of one model made, nats per token."""
    losses = [[run["validation_loss"] for run in runs] for runs in comparison["runs"].values()]
    return max((max(group) - min(group) for group in losses), default=0.0)


def three_models(aggregate: dict, steps: dict[str, list[int]]) -> pd.DataFrame:
    """Return the MLP, one head and four heads of one run: mean ± sample deviation, and the selected steps."""
    rows = []
    for group, title in (("mlp", "MLP"), ("attention", "1 head"), ("multihead", "4 heads")):
        if group in aggregate:
            rows.append({"model": title} | metric_cells(aggregate[group]) | {"selected steps": listed(steps[group])})
    return pd.DataFrame(rows)


def course_table(course: dict) -> pd.DataFrame:
    """Return the course's published results."""
    return three_models(course["aggregate"], {g: entry["selected_steps"] for g, entry in course["aggregate"].items()})


def our_table(comparison: dict) -> pd.DataFrame:
    """Return the same models of a comparison."""
    steps = {group: [run["selected_step"] for run in runs] for group, runs in comparison["runs"].items()}
    return three_models(comparison["aggregate"], steps)


def gap_table(course: dict, ours: dict) -> pd.DataFrame:
    """Return the differences between models within each run, which may be compared where levels may not."""
    rows = []
    for first, second, name in (("attention", "mlp", "1 head − MLP"), ("multihead", "attention", "4 heads − 1 head")):
        row = {"difference of test losses": name}
        for source, aggregate in (("course", course["aggregate"]), ("here", ours["aggregate"])):
            if first in aggregate and second in aggregate:
                row[source] = aggregate[first]["test_loss"]["mean"] - aggregate[second]["test_loss"]["mean"]
        rows.append(row)
    return pd.DataFrame(rows)


def baseline_table(comparison: dict) -> pd.DataFrame:
    """Return the baselines beside the models' means: `model`, `test loss`, `test perplexity`, worst first."""
    rows = [(name, b["test_loss"], b["test_perplexity"]) for name, b in comparison.get("baselines", {}).items()]
    for group, runs in comparison["runs"].items():
        mean = comparison["aggregate"][group]
        rows.append((group_title(group, runs), mean["test_loss"]["mean"], mean["test_perplexity"]["mean"]))
    table = pd.DataFrame(rows, columns=["model", "test loss", "test perplexity"])
    return table.sort_values("test loss", ascending=False, ignore_index=True)


def facts_table(facts: dict) -> pd.DataFrame:
    """Return an object of the JSON as rows of `field` and `value`."""
    return pd.DataFrame([(name, str(value)) for name, value in facts.items()], columns=["field", "value"])


def history_table(comparison: dict) -> pd.DataFrame:
    """Return the validation losses: one row per run and validated step, and whether the step was kept."""
    return pd.DataFrame(
        [
            (group_title(group, runs), run["seed"], e["step"], e["validation_loss"], e["step"] == run["selected_step"])
            for group, runs in comparison["runs"].items()
            for run in runs
            for e in run.get("history", [])
        ],
        columns=["model", "seed", "step", "validation loss", "kept"],
    )


def paired_differences(comparison: dict[str, Any], first: str, second: str) -> pd.DataFrame:
    """Return test loss of `first` minus `second` for every seed that both have: `seed`, both losses, `difference`."""
    losses = [{run["seed"]: run["test_loss"] for run in comparison["runs"].get(group, [])} for group in (first, second)]
    seeds = sorted(losses[0].keys() & losses[1].keys())
    return pd.DataFrame(
        [(seed, losses[0][seed], losses[1][seed], losses[0][seed] - losses[1][seed]) for seed in seeds],
        columns=["seed", first, second, "difference"],
    )


def of_head_counts(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of a `run_table` that differ in nothing but their heads: no MLP, no shared keys and values."""
    return runs[(runs["heads"] == runs["kv heads"]).fillna(False)]


def sharing_table(comparison: dict[str, Any]) -> pd.DataFrame:
    """Return what sharing keys and values costs: one row for each model that does, against that with a set a head.

    Columns: `model`, `parameters`, `cache, bytes a word`, `times smaller`, `seeds` (that both have), `difference` (mean
    test loss minus that of the other on the same seeds), its 95 % interval (`from`, `to`), and `decided`: whether the
    interval leaves out 0. With fewer than two seeds in common there is no interval, with none no difference.
    """
    rows = []
    for group, runs in in_order(comparison["runs"]):
        if not (variant := variant_of_run(runs[0])).shares:
            continue
        whole = Variant.with_heads(variant.heads)
        other = whole.group + (YOURS if is_yours(runs) else "")
        differences = paired_differences(comparison, group, other)["difference"].tolist()
        mean = statistics.fmean(differences) if differences else math.nan
        low, high = mean_interval(differences)[1:] if len(differences) > 1 else (math.nan, math.nan)
        held, of_whole = cache_bytes_of(variant), cache_bytes_of(whole)
        title, decided = group_title(group, runs), low > 0 or high < 0
        rows.append((title, runs[0]["parameters"], held, of_whole // held, len(differences), mean, low, high, decided))
    columns = ["model", "parameters", "cache, bytes a word", "times smaller", "seeds", "difference", "from", "to"]
    return pd.DataFrame(rows, columns=[*columns, "decided"])


def what_sharing_costs(table: pd.DataFrame) -> str:
    """Say what sharing keys and values does to the loss, as far as the seeds decide. `table` is a `sharing_table`."""

    def listed(which: pd.Series) -> str:
        return "; ".join(
            f"{row['model']}, {signed(row['difference'])} ({signed(row['from'])} to {signed(row['to'])})"
            for _, row in table[which].iterrows()
        )

    found = {
        "Sharing raises the loss of": table["from"] > 0,
        "Sharing lowers the loss of": table["to"] < 0,
        "Undecided, since the interval holds 0:": (table["from"] <= 0) & (table["to"] >= 0),
    }
    said = [f"{start} {listed(which)}." for start, which in found.items() if which.any()]
    if not said:
        return "No model that shares has two seeds in common with one that does not, so nothing can be said."
    return f"{' '.join(said)} In nats per token against a set for each head, paired by seed, with the 95 % interval."


def against_best(runs: pd.DataFrame) -> pd.DataFrame:
    """Return how every other head count differs from the best, on the seeds that both have, fewest heads first.

    `runs` is a `run_table`, of which those that share keys and values are left out. Columns: `heads`, `best`, `seeds`,
    `difference` (mean test loss minus the best's), its 95 % interval (`from`, `to`), and `decided`: whether that leaves
    out 0. A count with fewer than two seeds in common has no line.
    """
    losses = of_head_counts(runs).pivot_table(index="seed", columns="heads", values="test loss")
    rows: list[tuple] = []
    best = int(losses.mean().idxmin()) if len(losses.columns) else 0
    for heads in losses.columns.drop(best) if best else []:
        differences = (losses[heads] - losses[best]).dropna().tolist()
        if len(differences) > 1:
            mean, low, high = mean_interval(differences)
            rows.append((int(heads), best, len(differences), mean, low, high, not low <= 0 <= high))
    return pd.DataFrame(rows, columns=["heads", "best", "seeds", "difference", "from", "to", "decided"])


def mean_interval(values: list[float], level: float = 0.95) -> tuple[float, float, float]:
    """Return mean, low and high of Student's interval for the mean of a few values (Student 1908).

    It rests on values that are drawn from one normal distribution, each independent of the others. Needs two or more.
    """
    mean = statistics.fmean(values)
    half = stdtrit(len(values) - 1, (1 + level) / 2) * statistics.stdev(values) / math.sqrt(len(values))
    return mean, mean - half, mean + half
