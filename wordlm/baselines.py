"""What a model must beat: counts of words and of word pairs and triples.

Interpolated Kneser-Ney smoothing (Kneser and Ney 1995, in the form of Chen and Goodman 1999, equation 14): a
count is lowered by a discount, and what that frees goes to the next shorter context, where a word counts by
how many different words it follows. The shortest context falls back on the uniform distribution over the
vocabulary, so that no word has probability 0. Discount D = n1 / (n1 + 2 n2) for each order, from the numbers
of n-grams that occur once and twice (Ney, Essen and Kneser 1994).
"""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from wordlm.data import Corpus, StoryStream
from wordlm.loss import perplexity
from wordlm.text import BOS

ORDERS = {"unigram": 1, "bigram": 2, "trigram": 3}


class KneserNey:
    """An n-gram model over `vocab_size` words; contexts reach back to the start mark of a story."""

    def __init__(self, stories: Iterable[Sequence[int]], order: int, vocab_size: int) -> None:
        """Count the n-grams of `stories`, each a list of ids from BOS to EOS; every id but BOS is a target."""
        self.order = order
        self.vocab_size = vocab_size
        counts: Counter = Counter()
        for story in stories:
            padded = [BOS] * (order - 2) + list(story)
            start = max(1, order - 1)
            counts.update(tuple(padded[i - order + 1 : i + 1]) for i in range(start, len(padded)))
        # levels[k]: n-grams with a context of k words. Below the longest, each longer n-gram counts once.
        self._levels: list[_Level] = []
        for _ in range(order):
            self._levels.append(_Level(counts))
            counts = Counter(gram[1:] for gram in counts)
        self._levels.reverse()

    def probability(self, context: Sequence[int], word: int) -> float:
        """Return p(word | context); only the last `order - 1` ids of the context count."""
        p = 1 / self.vocab_size
        for reach, level in enumerate(self._levels):
            p = level.interpolate(tuple(context[len(context) - reach :]), word, p)
        return p


class _Level:
    """The counts of one order."""

    def __init__(self, counts: Counter) -> None:
        self._counts = counts
        self._totals: dict = defaultdict(int)
        self._followers: dict = defaultdict(int)
        for gram, count in counts.items():
            self._totals[gram[:-1]] += count
            self._followers[gram[:-1]] += 1
        frequencies = Counter(counts.values())
        ones, twos = frequencies[1], frequencies[2]
        # Where no n-gram occurs once there is nothing to estimate it from; one half keeps p above 0.
        self._discount = ones / (ones + 2 * twos) if ones and twos else 0.5

    def interpolate(self, context: tuple[int, ...], word: int, shorter: float) -> float:
        total = self._totals.get(context)
        if not total:
            return shorter
        kept = max(self._counts.get((*context, word), 0) - self._discount, 0)
        return (kept + self._discount * self._followers[context] * shorter) / total


def stories_of(stream: StoryStream) -> list[list[int]]:
    """Return the stories of a split, each from BOS to EOS."""
    ids, starts = stream.ids.tolist(), stream.starts.tolist()
    return [ids[a:b] for a, b in itertools.pairwise(starts)]


def story_losses(model: KneserNey, stories: Iterable[Sequence[int]]) -> np.ndarray:
    """Return -ln p of every target in nats, story by story."""
    losses = []
    for story in stories:
        padded = [BOS] * (model.order - 1) + list(story)
        for i in range(model.order, len(padded)):
            losses.append(-math.log(model.probability(padded[i - model.order + 1 : i], padded[i])))
    return np.array(losses)


def score_baselines(corpus: Corpus) -> dict[str, dict[str, float]]:
    """Return test loss and perplexity of the uniform distribution and of the n-gram models."""
    train, test = stories_of(corpus.splits["train"]), stories_of(corpus.splits["test"])
    losses = {"uniform": math.log(len(corpus.vocab))}
    for name, order in ORDERS.items():
        losses[name] = float(story_losses(KneserNey(train, order, len(corpus.vocab)), test).mean())
    return {name: {"test_loss": loss, "test_perplexity": perplexity(loss)} for name, loss in losses.items()}
