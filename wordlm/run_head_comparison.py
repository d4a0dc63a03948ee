"""Train and score every model of the comparison: `python -m wordlm.run_head_comparison`.

Three kinds (MLP, one head, four heads) at three seeds unless narrowed. Each finished run is saved at once;
the same command picks up where it was stopped. The best validation checkpoint of a run is scored once on all
test targets.

    output-dir/protocol.json            what every run in this folder shares
    output-dir/baselines.json           the test losses of counting words, pairs and triples
    output-dir/runs/NAME_seedS.json     the numbers of one finished run
    output-dir/heads/NAME_seedS.npz     its weights
    output-dir/heads/comparison.json    all finished runs and their mean and sample standard deviation
    output-dir/benchmark.json           the same for the MLP and one head only
"""

import argparse
import statistics
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tqdm import tqdm

from wordlm.baselines import score_baselines
from wordlm.checkpoints import describe_checkpoint, save_model_npz
from wordlm.commands import CommandParser, check_target, errors_in_one_line, whole_number
from wordlm.data import Corpus, build_corpus
from wordlm.files import read_json, write_json
from wordlm.loss import perplexity
from wordlm.models import D_MODEL, HIDDEN, count_parameters
from wordlm.models import build_model as build_model  # users of the course import it from here
from wordlm.results import METRICS, check_comparison, mean_and_deviation, variant_of_run
from wordlm.runs import ClusterError, Executor, Run, TrainedRun, plan_runs, run_here, run_on_ray
from wordlm.text import CONTEXT_LEN
from wordlm.training import NonFiniteLoss, TrainConfig, choose_device
from wordlm.variants import DEFAULT_HEADS, KINDS, Variant

SEEDS = (11, 29, 47)
MOST = 2**31 - 1
MOST_IN_A_BATCH = 2**16
_REMEDY = "take it away, and the same command trains what is missing"


class ProtocolError(RuntimeError):
    """The output folder holds runs of another configuration, or files that are no runs."""


def describe_protocol(corpus: Corpus, config: TrainConfig) -> dict[str, Any]:
    """Return what every run of a folder shares; another value of any of it is another experiment."""
    shared = {key: value for key, value in asdict(config).items() if key != "seed"}
    return {
        "profile": corpus.profile,
        "data_sha256": corpus.digest,
        "vocab_sha256": corpus.vocab.sha256,
        "vocab_size": len(corpus.vocab),
        "context_len": CONTEXT_LEN,
        "d_model": D_MODEL,
        "hidden": HIDDEN,
        "optimizer": "AdamW",
        "batches": "drawn with replacement",
        "selection": "best validation step, scored once on all test targets",
        **shared,
    }


def claim_folder(folder: Path, protocol: dict[str, Any]) -> None:
    """Write `protocol.json`, or raise `ProtocolError` if the folder has another one."""
    path = folder / "protocol.json"
    if not path.exists():
        write_json(path, protocol)
        return
    existing = read_json(path)
    if not isinstance(existing, dict):
        raise ProtocolError(f"{path} is no protocol: choose another --output-dir")
    for key in sorted(existing.keys() | protocol.keys()):
        if existing.get(key) != protocol.get(key):
            raise ProtocolError(
                f"{folder} holds runs with {key} = {existing.get(key)}, this command asks for "
                f"{protocol.get(key)}: choose another --output-dir, or the same settings"
            )


def save_run(run: Run, trained: TrainedRun, corpus: Corpus, folder: Path) -> None:
    """Write a run's weights, then its numbers, whose presence marks it as finished."""
    metadata = describe_checkpoint(trained.model, corpus, trained.result)
    save_model_npz(folder / "heads" / f"{run.name}.npz", trained.model, metadata)
    record = {
        "group": run.variant.group,
        "seed": run.seed,
        **{name: number for name, number in run.variant.statement.items() if name != "kind"},
        "parameters": count_parameters(trained.model),
        "selected_step": trained.result["selected_step"],
        "validation_loss": trained.result["validation_loss"],
        "test_loss": trained.test_loss,
        "test_perplexity": perplexity(trained.test_loss),
        "runtime_seconds": trained.result["runtime_seconds"],
        "history": [
            {"step": p.step, "train_loss": p.train_loss, "validation_loss": p.validation_loss} for p in trained.history
        ],
        "environment": metadata["environment"],
    }
    write_json(folder / "runs" / f"{run.name}.json", record)


def aggregate(runs: list[dict[str, Any]]) -> dict[str, dict[str, float | None]]:
    """Return mean and sample standard deviation (n - 1) over seeds; None where one run leaves it undefined."""
    summary = {}
    for metric in METRICS:
        values = [run[metric] for run in runs]
        deviation = statistics.stdev(values) if len(values) > 1 else None
        summary[metric] = {"mean": statistics.fmean(values), "sample_std": deviation}
    return summary


def read_records(folder: Path) -> list[dict[str, Any]]:
    """Return the numbers of every finished run of `folder`.

    Raises `ProtocolError` naming a file that is no record, or is that of another run than its name says: by its name
    a run counts as finished.
    """
    records = []
    for path in sorted((folder / "runs").glob("*.json")):
        record = read_json(path)
        try:
            name = _name_of(record)
        except (ValueError, KeyError, TypeError) as error:
            raise ProtocolError(f"{path} is no record of a run ({error}): {_REMEDY}") from error
        if name != path.stem:
            raise ProtocolError(f"{path} is the record of {name}: {_REMEDY}")
        records.append(record)
    return records


def _name_of(record: dict[str, Any]) -> str:
    """Return which run a record is of, by its content. Raises when it is not whole, or says two things."""
    group, seed = record["group"], record["seed"]
    summary = {"runs": {group: [record]}, "aggregate": {group: aggregate([record])}, "protocol": {}}
    check_comparison(summary | {"environment": record["environment"]})
    variant = Variant.of_group(group)
    if variant_of_run(record) != variant:
        told = ", ".join(f"{name} = {record[name]}" for name in ("heads", "kv_heads") if name in record)
        raise ValueError(f"group {group!r} with {told}")
    return variant.stem(seed)


def write_comparison(folder: Path) -> None:
    """Gather all finished runs of `folder` and the baselines into `heads/comparison.json` and `benchmark.json`."""
    runs: dict[str, list[dict[str, Any]]] = {}
    environment: dict[str, Any] = {}
    records = read_records(folder)
    # The three of the course first, then the other numbers of heads.
    for record in sorted(records, key=lambda r: (r["group"] not in KINDS, Variant.of_group(r["group"]), r["seed"])):
        environment = record.pop("environment")
        record["accelerator"] = environment.get("accelerator")
        runs.setdefault(record.pop("group"), []).append(record)
    comparison = {
        "runs": runs,
        "aggregate": {group: aggregate(group_runs) for group, group_runs in runs.items()},
        "environment": environment,
        "protocol": read_json(folder / "protocol.json"),
        "baselines": read_json(folder / "baselines.json"),
    }
    write_json(folder / "heads" / "comparison.json", comparison)
    two = ("mlp", "attention")
    for part in ("runs", "aggregate"):
        comparison[part] = {group: comparison[part][group] for group in two if group in comparison[part]}
    write_json(folder / "benchmark.json", comparison)


def run_comparison(
    runs: list[Run], corpus: Corpus, config: TrainConfig, folder: Path, device: str, executor: Executor = run_here
) -> None:
    """Carry out the runs that `folder` lacks, with one progress bar over all their steps."""
    finished = {_name_of(record) for record in read_records(folder)}
    if (folder / "baselines.json").exists():
        read_json(folder / "baselines.json")  # a damaged one is told before hours of training
    claim_folder(folder, describe_protocol(corpus, config))
    if not (folder / "baselines.json").exists():
        write_json(folder / "baselines.json", score_baselines(corpus))
    todo = [run for run in runs if run.name not in finished]
    with tqdm(total=len(todo) * config.steps, unit="step", smoothing=0.05) as bar:
        for run, trained in executor(todo, corpus, config, device, bar):
            save_run(run, trained, corpus, folder)
            write_comparison(folder)
    write_comparison(folder)


def print_table(comparison: dict[str, Any]) -> None:
    """Print one line per kind: mean and sample standard deviation over its seeds."""
    print(f"{'':14} {'seeds':>5} {'test loss':>19} {'test perplexity':>19} {'seconds':>17}  selected steps")
    for group, runs in comparison["runs"].items():
        cells = []
        for (metric, digits), width in zip(METRICS.items(), (19, 19, 17), strict=True):
            cells.append(mean_and_deviation(comparison["aggregate"][group][metric], digits).rjust(width))
        steps = ", ".join(str(run["selected_step"]) for run in runs)
        print(f"{group:14} {len(runs):5} {' '.join(cells)}  {steps}")


def parse_arguments() -> argparse.Namespace:
    defaults = TrainConfig()
    parser = CommandParser(__doc__)
    parser.add_argument("--data-dir", type=Path, default=Path("work/data"))
    parser.add_argument("--output-dir", type=Path, default=Path("work/head-repeat"))
    parser.add_argument("--profile", choices=["smoke", "dgx"], default="dgx")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--heads", nargs="+", type=int, default=[DEFAULT_HEADS], help="head counts of kind multihead")
    parser.add_argument(
        "--kv-heads", nargs="+", type=int, default=[None], help="how many keys and values those heads share; else all"
    )
    parser.add_argument("--seeds", nargs="+", type=whole_number(0, MOST), default=list(SEEDS))
    parser.add_argument("--steps", type=whole_number(1, MOST), default=defaults.steps)
    parser.add_argument("--batch-size", type=whole_number(1, MOST_IN_A_BATCH), default=defaults.batch_size)
    parser.add_argument("--eval-every", type=whole_number(1, MOST), default=defaults.eval_every)
    parser.add_argument("--engine", choices=["local", "ray"], default="local", help="ray: on a cluster, see README")
    parser.add_argument("--address", help="of the Ray cluster, host:port; without it Ray uses this machine alone")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default=defaults.precision)
    args = parser.parse_args()
    if "multihead" not in args.kinds:
        for option, given in (("--heads", args.heads != [DEFAULT_HEADS]), ("--kv-heads", args.kv_heads != [None])):
            if given:
                parser.error(f"{option} is for kind multihead, which --kinds leaves out")
    if args.address and args.engine != "ray":
        parser.error("--address names a Ray cluster: add --engine ray")
    if args.engine == "ray" and args.device.partition(":")[0] not in ("auto", "cpu", "cuda", "mps"):
        parser.error(f"--device: {args.device} is none of auto, cpu, cuda and mps")
    for count in args.heads:
        if count < 2 or D_MODEL % count:
            parser.error(f"--heads: {count} must be at least 2 and divide {D_MODEL} (one head is --kinds attention)")
        for shared in args.kv_heads:
            if shared is not None and (shared < 1 or count % shared):
                parser.error(f"--kv-heads: {shared} must be at least 1 and divide --heads {count}")
    return args


def main() -> None:
    args = parse_arguments()
    with errors_in_one_line(ProtocolError, ClusterError, NonFiniteLoss):
        check_target(args.output_dir / "protocol.json")
        if args.engine == "ray":
            executor = run_on_ray(args.address)
        else:
            executor = run_here
            device, reason = choose_device(args.device)
            print(f"device: {device} ({reason})")
        config = TrainConfig(args.steps, args.batch_size, eval_every=args.eval_every, precision=args.precision)
        corpus = build_corpus(args.data_dir, args.profile)
        runs = plan_runs(args.kinds, args.heads, args.seeds, args.kv_heads)
        run_comparison(runs, corpus, config, args.output_dir, args.device, executor)
        print_table(read_json(args.output_dir / "heads" / "comparison.json"))


if __name__ == "__main__":
    main()
