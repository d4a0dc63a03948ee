"""Cross-entropy and perplexity, defined once.

A loss is in nats per token: the sum of -ln p(target) over all targets divided by their number. It is never
a mean of batch means, which would weigh the words of a short last batch more.
"""

import math


def perplexity(cross_entropy: float) -> float:
    """Return exp(cross-entropy in nats): the reciprocal of the geometric mean target probability."""
    try:
        return math.exp(cross_entropy)
    except OverflowError:
        return math.inf
