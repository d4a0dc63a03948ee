"""Measure what each head does over many texts: `python -m wordlm.profile_heads`.

For every attention checkpoint, each word of the test stories and of two sorts of controlled texts read as the last one:
where its weights fall, beside what even weights would give, with 95 % intervals. Writes one JSON file of numbers; no
story text goes into it.
"""

from pathlib import Path
from typing import Any

from tqdm import tqdm

from wordlm.checkpoints import list_checkpoints, open_models_with_heads
from wordlm.commands import CommandParser, check_target, errors_in_one_line
from wordlm.data import Corpus, build_corpus, make_all_windows
from wordlm.files import artifact, sha256_file, write_json
from wordlm.profiles import POSITION, STORIES, Profile, Readings, controlled, profile_of

CONTROLLED_SEED = 0


def profile_all(heads_dir: Path, corpus: Corpus) -> dict[str, Any]:
    """Return the content of `profiles.json` for the checkpoints that `open_models_with_heads` finds in `heads_dir`."""
    with_heads = open_models_with_heads(heads_dir, corpus.vocab)
    texts = {STORIES: Readings.of(make_all_windows(corpus)["test"][0]), **controlled(corpus.vocab, CONTROLLED_SEED)}
    checkpoints = {}
    for path, (metadata, model) in tqdm(with_heads.items(), unit="checkpoint"):
        profiles = {name: profile_of(model, readings, corpus.vocab).as_json() for name, readings in texts.items()}
        checkpoints[path.stem] = {"sha256": sha256_file(path), "seed": metadata.get("seed"), "profiles": profiles}
    return {
        "split": "test",
        "data_sha256": corpus.digest,
        "controlled_seed": CONTROLLED_SEED,
        "interval": "95 %, bootstrap over texts, 2,000 resamples, seed 0",
        "checkpoints": checkpoints,
    }


def main() -> None:
    parser = CommandParser(__doc__)
    parser.add_argument("--data-dir", type=Path, default=Path("work/data"))
    parser.add_argument("--profile", choices=["smoke", "dgx"], default="dgx")
    parser.add_argument("--heads-dir", type=Path, default=artifact("heads"))
    parser.add_argument("--output", type=Path, default=Path("work/profiles.json"))
    args = parser.parse_args()
    with errors_in_one_line():
        check_target(args.output)
        list_checkpoints(args.heads_dir)  # reading the stories takes longer
        result = profile_all(args.heads_dir, build_corpus(args.data_dir, args.profile))
        write_json(args.output, result)
    for name, entry in result["checkpoints"].items():
        seen = Profile.from_json(entry["profiles"][STORIES])
        for head in range(seen.heads):
            furthest = seen.unusual(head, 1)[0]
            share = seen.measures[furthest]
            print(
                f"{name:22} head {head + 1:2}: {furthest} {share.value[head]:.3f} (even {share.even:.3f}), "
                f"{seen.sharpness[head]:.2f} nats from even, {seen.measures[POSITION].value[head]:.0%} by position"
            )


if __name__ == "__main__":
    main()
