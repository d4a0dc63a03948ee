"""Write the seed-11 checkpoints as ONNX files: `python -m wordlm.export_onnx`.

FP32, one input `ids` (batch, 64) int64, one output `logits` (batch, vocabulary) float32. The weights keep their
`state_dict` names; kind, heads and the digests of vocabulary and checkpoint stand in the file's metadata. Needs the
development packages `onnx` and `onnxscript`.
"""

import argparse
from pathlib import Path

import onnx
import torch

from wordlm.checkpoints import open_checkpoint
from wordlm.files import ARTIFACTS, atomic_path, sha256_file
from wordlm.text import BOS, left_pad

NAMES = ("mlp_seed11", "attention_seed11", "multihead_seed11")


def export(checkpoint: Path, target: Path) -> None:
    """Export one checkpoint, whole or not at all."""
    metadata, model, _ = open_checkpoint(checkpoint)
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
    proto = program.model_proto
    for key, value in {
        "kind": metadata["kind"],
        "heads": str(metadata["heads"]),
        "seed": str(metadata["seed"]),
        "vocab_sha256": metadata["vocab_sha256"],
        "checkpoint": checkpoint.name,
        "checkpoint_sha256": sha256_file(checkpoint),
    }.items():
        proto.metadata_props.add(key=key, value=value)
    onnx.checker.check_model(proto)
    with atomic_path(target) as temporary:
        temporary.write_bytes(proto.SerializeToString(deterministic=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heads-dir", type=Path, default=ARTIFACTS / "heads")
    parser.add_argument("--output-dir", type=Path, default=Path("work/onnx"))
    args = parser.parse_args()
    for name in NAMES:
        target = args.output_dir / f"{name}.onnx"
        export(args.heads_dir / f"{name}.npz", target)
        print(f"{target}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
