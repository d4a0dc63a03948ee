"""How differently the four heads look from the last word of a prompt: `python -m tests.benchmarks.examples [TEXT …]`.

The mean Jensen-Shannon distance between every two heads' rows, 0 where all look alike, 1 where none share a word, as
a mean over the bundled models with four heads.
"""

import itertools
import sys

from wordlm.bundled import BUNDLED, Bundled
from wordlm.checkpoints import open_checkpoint
from wordlm.files import artifact
from wordlm.inspection import rows_of
from wordlm.likeness import head_distances
from wordlm.starts import EXAMPLES
from wordlm.text import Vocab, encode_prompt
from wordlm.variants import Variant

FOUR = Variant.with_heads(4)
TRIED = (
    "Lily gave the ball to Tom . Tom gave the ball to",
    "Tom gave Lily a red ball . Lily gave Tom a blue",
    "Ben and Mia went to the park . Ben saw",
    "Lily has a cat . The cat likes Lily . Lily likes the",
    "Tom saw a bird . The bird saw",
    "The dog saw a cat . The cat ran away and the dog",
    "A big box and a small box . In the big box was a",
    "The bear had honey . The bee wanted the honey so the",
    "There was a red car and a blue car . The red car was",
    "The girl had a doll . She loved the doll and the",
    "Sara lost her hat . She was sad because she",
    "Tom had a dog . He loved",
    "The boy and the girl played . They were",
    "Mom made a cake . She put it on the",
    "The fish was in the water . It wanted to",
    "a little dog found a red hat",
    "Once upon a time there was a",
    "He looked under the bed and behind the",
)


def difference(model, text: str, vocab: Vocab) -> float:
    """Return the mean distance of the heads' last rows."""
    distances = head_distances(rows_of(model, encode_prompt(text, vocab)).weights[:, -1])
    pairs = list(itertools.combinations(range(model.heads), 2))
    return float(sum(distances[pair] for pair in pairs) / len(pairs))


def main() -> None:
    vocab = Vocab.load(artifact("vocab.json"))
    models = [open_checkpoint(Bundled(FOUR, seed).path, vocab)[1] for seed in BUNDLED[FOUR]]
    texts = sys.argv[1:] or list(dict.fromkeys((*TRIED, *(example.text for example in EXAMPLES))))
    found = {text: sum(difference(model, text, vocab) for model in models) / len(models) for text in texts}
    for text, distance in sorted(found.items(), key=lambda item: -item[1]):
        print(f"{distance:.3f}  {text}")


if __name__ == "__main__":
    main()
