"""Write checkpoints as ONNX files: `python -m wordlm.export_onnx`.

Every `.npz` of a folder, or those that `--names` chooses, whoever trained them: what a file is, it says itself. FP32,
one input `ids` (batch, 64) int64, one output `logits` (batch, vocabulary) float32. The weights keep their `state_dict`
names; what the model is and the digests of vocabulary and checkpoint stand in the file's metadata. Needs the
development packages `onnx` and `onnxscript`.
"""

import logging
import warnings
from collections.abc import Iterable
from pathlib import Path

import torch

from wordlm.checkpoints import list_checkpoints, open_checkpoint
from wordlm.commands import CommandParser, check_target, errors_in_one_line
from wordlm.files import artifact, atomic_path, sha256_file
from wordlm.models import variant_of
from wordlm.text import BOS, left_pad


class ExporterMissing(RuntimeError):
    """The development packages that write ONNX files are not installed."""


def export(checkpoint: Path, target: Path) -> None:
    """Export one checkpoint, whole or not at all. Raises `ExporterMissing`, or `ValueError` as `open_checkpoint`."""
    try:
        import onnx
        import onnxscript  # noqa: F401  (torch asks for it later)
    except ImportError as error:
        raise ExporterMissing(f"{error.name} is missing: python -m pip install -r requirements-dev.txt") from error
    metadata, model, _ = open_checkpoint(checkpoint)
    variant = variant_of(model)
    example = torch.from_numpy(left_pad([BOS])).repeat(2, 1)
    program = torch.onnx.export(
        model,
        (example,),
        input_names=["ids"],
        output_names=["logits"],
        dynamic_shapes=({0: torch.export.Dim("batch")},),
        dynamo=True,
        verbose=False,
    )
    if program is None:
        raise RuntimeError("torch.onnx.export returned no program")
    proto = program.model_proto
    for part in (*proto.graph.node, *proto.graph.value_info, *proto.graph.input, *proto.graph.output):
        del part.metadata_props[:]  # where in which file of this machine each operation was called
    for key, value in {
        **{name: str(value) for name, value in variant.statement.items()},
        "seed": str(metadata.get("seed")),
        "vocab_sha256": metadata["vocab_sha256"],
        "checkpoint": checkpoint.name,
        "checkpoint_sha256": sha256_file(checkpoint),
    }.items():
        proto.metadata_props.add(key=key, value=value)
    onnx.checker.check_model(proto)
    with atomic_path(target) as temporary:
        temporary.write_bytes(proto.SerializeToString(deterministic=True))


def chosen_checkpoints(folder: Path, names: Iterable[str] | None) -> list[Path]:
    """Return the checkpoints of a folder, or those called `names`, each once and each a model.

    Raises `ValueError`.
    """
    here = {path.stem: path for path in list_checkpoints(folder)}
    for name in names or ():
        if name not in here:
            raise ValueError(f"{folder} holds no {name}.npz: choose from {', '.join(here)}")
    chosen = [here[name] for name in dict.fromkeys(names or here)]
    for path in chosen:
        open_checkpoint(path)
    return chosen


def main() -> None:
    parser = CommandParser(__doc__)
    parser.add_argument("--heads-dir", type=Path, default=artifact("heads"))
    parser.add_argument("--output-dir", type=Path, default=Path("work/onnx"))
    parser.add_argument(
        "--names", nargs="+", metavar="NAME", help="file names without .npz; without it, all of the folder"
    )
    args = parser.parse_args()
    # The exporter's own deprecations and progress are nothing that a reader could act on.
    warnings.simplefilter("ignore")
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with errors_in_one_line(ExporterMissing):
        checkpoints = chosen_checkpoints(args.heads_dir, args.names)
        targets = [args.output_dir / f"{path.stem}.onnx" for path in checkpoints]
        for target in targets:
            check_target(target)
        for path, target in zip(checkpoints, targets, strict=True):
            export(path, target)
            print(f"{target}: {target.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main()
