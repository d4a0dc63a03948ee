"""A few hundred very short stories from a small grammar, for trying the loop without any download.

They verify that data, training and the app work together. They are far too regular to say anything about
real text: no score from them is worth publishing.
"""

import random

WHO = ["dog", "cat", "bird", "boy", "girl", "bear", "frog", "mouse"]
NAME = ["tom", "lily", "ben", "mia", "max", "sue"]
LOOK = ["little", "big", "happy", "sad", "old", "red", "blue"]
THING = ["ball", "hat", "box", "leaf", "shell", "kite", "cup", "drum"]
PLACE = ["park", "garden", "house", "forest", "river", "hill"]
FEEL = ["happy", "glad", "proud", "calm"]


def smoke_stories(count: int = 400, seed: int = 7) -> list[str]:
    """Return `count` distinct stories of four to six sentences, the same for the same `seed`."""
    rng = random.Random(seed)
    stories: dict[str, None] = {}  # a dict keeps the order and drops what was made twice
    while len(stories) < count:
        stories[_story(rng)] = None
    return list(stories)


def _story(rng: random.Random) -> str:
    name, who, friend = rng.choice(NAME), *rng.sample(WHO, 2)
    look, thing, place = rng.choice(LOOK), rng.choice(THING), rng.choice(PLACE)
    middle = [
        f'"can i have the {thing}?" said the {friend}.',
        f"the {thing} was very {rng.choice(LOOK)}.",
        f"{name} ran to the {place} with the {thing}.",
        f"the {friend} didn't see the {thing}.",
    ]
    return " ".join(
        [
            f"once upon a time there was a {look} {who} named {name}.",
            f"one day {name} found a {rng.choice(LOOK)} {thing} in the {place}.",
            *rng.sample(middle, rng.randint(1, 3)),
            f"{name} and the {friend} were {rng.choice(FEEL)}.",
        ]
    )
