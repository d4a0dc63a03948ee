"""Measure what each head does over many texts: `python -m wordlm.profile_heads`.

For every attention checkpoint, each word of the test stories and of two sorts of controlled texts read as the last one:
where its weights fall, beside what even weights would give, with 95 % intervals. Writes one JSON file of numbers; no
story text goes into it.
"""

from pathlib import Path
from typing import Any

from tqdm import tqdm

from wordlm.checkpoints import open_models_with_heads
from wordlm.commands import measure_heads
from wordlm.data import Corpus, make_all_windows
from wordlm.files import sha256_file
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
    result = measure_heads(__doc__, "work/profiles.json", profile_all)
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
