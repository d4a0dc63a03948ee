"""What is loaded or computed once for all visitors. Everything here is shared and must not be changed.

Caches are keyed by plain values: a checkpoint's name and the ids of a prompt.
"""

import functools
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import streamlit as st
import torch

from wordlm.ablation import check_ablations
from wordlm.bundled import BUNDLED, SEEDS, Bundled
from wordlm.checkpoints import open_checkpoint
from wordlm.data import Corpus, build_corpus, corpus_from_stories, make_all_windows, stories_in, stories_path
from wordlm.embeddings import Vectors, WordMap, added_by_training, vectors_of, word_map
from wordlm.files import REPOSITORY, artifact, read_json, sha256_file
from wordlm.inspection import Inspection, Rows, inspect_ids, next_probabilities, rows_of
from wordlm.likeness import LIKENESS_TEXTS, head_likeness
from wordlm.models import CausalAttentionLM, LanguageModel, variant_of
from wordlm.profiles import NAMES, STORIES, WORDS, Profile, Readings, check_profiles, controlled, profile_of
from wordlm.results import check_comparison, check_course
from wordlm.scoring import WordScores, score_words
from wordlm.smoke import smoke_stories
from wordlm.text import EncodedPrompt, Vocab, encode_prompt, tokenize
from wordlm.ui.state.own_models import Own, own_models, weights_of
from wordlm.variants import Variant

DATA_DIR = Path(os.environ.get("WORDLM_DATA", REPOSITORY / "work" / "data"))
"""Where `python -m wordlm.prepare_data` leaves the stories; the app works without them."""

MODELS = tuple(variant.choice for variant in sorted(BUNDLED, key=lambda variant: (variant.heads is None, variant)))
"""What a control offers of the bundled models: from few heads to many, then the MLP, which has none."""


def as_many_heads(model: str) -> tuple[str, ...]:
    """Return the bundled models with as many heads as `model`, an own model alone.

    The first has keys and values for each head; it stands for all of them where only the number of heads counts.
    """
    if model not in MODELS:
        return (model,)
    heads = Variant.parse(model).heads
    return tuple(other for other in reversed(MODELS) if Variant.parse(other).heads == heads)


def one_for_each_heads(offered: Iterable[str], chosen: str) -> list[str]:
    """Return one of the `offered` models for each number of heads: the `chosen` one where it has as many."""
    alike = (as_many_heads(model) for model in offered)
    return list(dict.fromkeys(chosen if chosen in models else models[0] for models in alike))


Checkpoint = Bundled | Own
"""A model on screen, bundled or the visitor's own. The key of every cache."""


_kept: list[Callable[[], None]] = []


def kept(most: int) -> Callable[[Callable], Callable]:
    """Keep the latest `most` results of a function of hashable values, for all visitors.

    Streamlit's own cache takes 0.3 ms to find a checkpoint and the ids of a prompt, a tenth of that remains.
    """

    def keeping(function: Callable) -> Callable:
        cached = functools.lru_cache(most)(function)
        _kept.append(cached.cache_clear)
        return cached

    return keeping


def forget_all() -> None:
    """Forget whatever was read or computed, as when files changed."""
    for clear in _kept:
        clear()
    st.cache_resource.clear()
    st.cache_data.clear()


class ArtifactError(RuntimeError):
    """A bundled file is missing or is not what it should be. The message is one sentence that says what to do."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever is wrong with a bundled file into an `ArtifactError`."""
    name = f"artifacts/{path.relative_to(artifact()).as_posix()}"
    try:
        yield
    except FileNotFoundError as error:
        raise ArtifactError(f"{name} is missing: bring it back with git checkout artifacts") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        # An OSError quotes the path as Python writes it, on Windows with every backslash twice.
        reason = str(error).replace(repr(str(path)), "it").replace(str(path), "it")
        again = "git checkout artifacts restores it"
        raise ArtifactError(f"{name} is damaged or another file ({reason}): {again}") from error


def checkpoint(choice: str, seed: int) -> Checkpoint:
    """Return the model of a `choice` at `seed`, or at the seed that it has where there is none with that one."""
    own = own_models().get(choice)
    return Bundled.nearest(choice, seed) if own is None else own.key


def offered_models() -> tuple[str, ...]:
    """Return what the model control offers: the bundled ones and the visitor's own."""
    return (*MODELS, *own_models())


def models_beside(chosen: Checkpoint) -> list[str]:
    """Return the models that read the same ids as `chosen`, itself among them: those with its vocabulary."""
    wanted = vocabulary_of(chosen).sha256
    bundled = MODELS if wanted == vocabulary().sha256 else ()
    return [*bundled, *(name for name, own in own_models().items() if own.weights.vocab.sha256 == wanted)]


@st.cache_resource(show_spinner=False)
def vocabulary() -> Vocab:
    """Return the bundled vocabulary."""
    path = artifact("vocab.json")
    with reading(path):
        return Vocab.load(path)


def vocabulary_of(chosen: Checkpoint) -> Vocab:
    """Return the vocabulary that a checkpoint was trained with."""
    return weights_of(chosen).vocab if isinstance(chosen, Own) else vocabulary()


def model_of(chosen: Checkpoint) -> LanguageModel:
    """Return the trained model of a checkpoint."""
    return weights_of(chosen).model if isinstance(chosen, Own) else _bundled_model(chosen)


def attention_of(chosen: Checkpoint) -> CausalAttentionLM:
    """Return the trained model of a checkpoint with heads. Raises `TypeError` for the MLP, which has none."""
    model = model_of(chosen)
    if not isinstance(model, CausalAttentionLM):
        raise TypeError(f"{chosen.name} has no heads")
    return model


@kept(len(BUNDLED) * len(SEEDS))
def _bundled_model(chosen: Bundled) -> LanguageModel:
    return _loaded(chosen)[0]


def weights_digest(chosen: Checkpoint) -> str:
    """Return the SHA-256 of a bundled file, or of an own model's parameters."""
    if isinstance(chosen, Own):
        return chosen.digest
    with reading(chosen.path):
        return _file_digest(str(chosen.path), chosen.path.stat().st_mtime_ns)


@st.cache_resource(max_entries=64, show_spinner=False)
def _file_digest(path: str, changed: int) -> str:
    return sha256_file(path)


def load_seconds_of(chosen: Checkpoint) -> float:
    """Return how long loading took when the first visitor needed the model; 0 for an own one, which is at hand."""
    return 0.0 if isinstance(chosen, Own) else _loaded(chosen)[1]


@st.cache_resource(show_spinner="Loading the model …")
def _loaded(chosen: Bundled) -> tuple[LanguageModel, float]:
    start = time.perf_counter()
    with reading(chosen.path):
        metadata, model, _ = open_checkpoint(chosen.path, vocabulary())
        found, seed = variant_of(model), metadata.get("seed")
        if (found, seed) != (chosen.variant, chosen.seed):
            raise ValueError(f"it holds {found}, seed {seed}")
    return model, time.perf_counter() - start


def encode(text: str, chosen: Checkpoint) -> EncodedPrompt:
    """Encode a prompt with a checkpoint's vocabulary."""
    return encode_prompt(text, vocabulary_of(chosen))


@kept(64)
def inspection_of(chosen: Checkpoint, ids: tuple[int, ...]) -> Inspection:
    """Return every step of an attention model for the ids of a prompt; at most 1 MB an entry."""
    return inspect_ids(attention_of(chosen), ids)


def rows_drawn_of(chosen: Checkpoint, prompt: EncodedPrompt) -> Rows:
    """Return where each word of a prompt looks in a model when it is the last one read; 1 ms, so it is not kept."""
    return rows_of(attention_of(chosen), prompt)


def probabilities_of(chosen: Checkpoint, ids: tuple[int, ...]) -> np.ndarray:
    """Return the probability of each word to come next, (V,)."""
    if chosen.heads is None:
        return next_probabilities(model_of(chosen), ids)
    return inspection_of(chosen, ids).next_probabilities


@kept(64)
def scores_of(chosen: Checkpoint, word_ids: tuple[int, ...], first: int = 0) -> WordScores:
    """Return how a model expected each word of a text from `first` on; 12 bytes a word."""
    return score_words(model_of(chosen), word_ids, first=first)


@st.cache_data(max_entries=16, show_spinner="Comparing the heads over several sentences …")
def likeness_of(first: Checkpoint, second: Checkpoint) -> np.ndarray:
    """Return how alike each head of one model is to each of another, (H1, H2)."""
    texts = [vocabulary().encode(tokenize(text)) for text in LIKENESS_TEXTS]
    return head_likeness(attention_of(first), attention_of(second), texts)


def ablations() -> dict:
    """Return `artifacts/heads/ablation.json`: the test losses with heads switched off."""
    path = artifact("heads", "ablation.json")
    with reading(path):
        return _ablations(str(path), path.stat().st_mtime_ns)


@st.cache_resource(max_entries=2, show_spinner=False)
def _ablations(path: str, changed: int) -> dict:
    return check_ablations(read_json(path))


@st.cache_resource(max_entries=2, show_spinner=False)
def _profiles(path: str, changed: int) -> dict:
    return check_profiles(read_json(path))


def ablation_of(chosen: Checkpoint) -> dict | None:
    """Return the stored losses of one attention checkpoint; None for an own one, which was never measured."""
    if isinstance(chosen, Own):
        return None
    with reading(artifact("heads", "ablation.json")):
        stored = ablations()["checkpoints"][chosen.file.removesuffix(".npz")]
        if stored["sha256"] != weights_digest(chosen):
            raise ValueError(f"it was measured on other weights than {chosen.file}")
    return stored


def measured_ablation_of(chosen: Checkpoint) -> dict:
    """Return what `ablation_of` does of a model that was measured. Raises `ValueError` for any other."""
    if (stored := ablation_of(chosen)) is None:
        raise ValueError(f"{chosen.name} was never measured with heads off")
    return stored


def mean_messages_of(chosen: Checkpoint) -> torch.Tensor:
    """Return the mean message of each head over the validation targets, (H, M)."""
    return torch.tensor(measured_ablation_of(chosen)["mean_messages"])


def profiled_texts(chosen: Checkpoint) -> tuple[str, ...]:
    """Return over which texts a model's heads have a profile; an own one has none over the test stories."""
    return (*(() if isinstance(chosen, Own) else (STORIES,)), WORDS, NAMES)


def profile_over(chosen: Checkpoint, texts: str) -> Profile:
    """Return what the heads of a model do over some of its `profiled_texts`: as stored, or measured for an own one."""
    if isinstance(chosen, Own):
        return _own_profile(chosen, texts)
    path = artifact("heads", "profiles.json")
    with reading(path):
        return _stored_profile(chosen, texts, str(path), path.stat().st_mtime_ns, weights_digest(chosen))


@st.cache_resource(max_entries=64, show_spinner=False)
def _stored_profile(chosen: Bundled, texts: str, path: str, changed: int, digest: str) -> Profile:
    stored = _profiles(path, changed)["checkpoints"][chosen.file.removesuffix(".npz")]
    if stored["sha256"] != digest:
        raise ValueError(f"it was measured on other weights than {chosen.file}")
    return Profile.from_json(stored["profiles"][texts])


@st.cache_resource(max_entries=8, show_spinner="Reading controlled texts …")
def _own_profile(chosen: Own, texts: str) -> Profile:
    vocab = vocabulary_of(chosen)
    return profile_of(attention_of(chosen), controlled(vocab)[texts], vocab)


@kept(32)
def profile_of_prompt(chosen: Checkpoint, word_ids: tuple[int, ...]) -> Profile:
    """Return what the heads of a model do over the words of a prompt, each read as the last one."""
    return profile_of(attention_of(chosen), Readings.of_texts([word_ids]), vocabulary_of(chosen))


@kept(16)
def embeddings_of(chosen: Checkpoint, added: bool) -> Vectors | None:
    """Return a model's embeddings, or what training `added` to them; None where its beginning is not known."""
    model = model_of(chosen)
    return added_by_training(model, chosen.seed) if added else vectors_of(model)


@kept(16)
def map_of(chosen: Checkpoint, added: bool) -> WordMap:
    """Return the map of the words by `embeddings_of`."""
    return word_map(embeddings_of(chosen, added).words)


def data_is_present() -> bool:
    """Whether the stories were prepared on this machine."""
    return stories_path(DATA_DIR, "dgx").is_file()


@st.cache_resource(show_spinner="Reading the stories …")
def story_corpus() -> Corpus:
    """Return the prepared stories, encoded. Raises `DataError`."""
    with reading(artifact("corpus.json")):
        return build_corpus(DATA_DIR, "dgx")


@st.cache_resource(show_spinner=False)
def smoke_corpus(own_vocabulary: bool) -> Corpus:
    """Return the built-in smoke stories, encoded with the bundled vocabulary or with their own."""
    return corpus_from_stories(smoke_stories(), "smoke", None if own_vocabulary else vocabulary())


@st.cache_resource(scope="session", max_entries=2, show_spinner="Reading your text …")
def text_corpus(content: bytes, own_vocabulary: bool) -> Corpus:
    """Return the stories of a visitor's text, encoded. Raises `DataError`."""
    return corpus_from_stories(stories_in(content), "text", None if own_vocabulary else vocabulary())


@st.cache_resource(show_spinner=False)
def story_windows() -> dict:
    """Return the windows of the prepared stories."""
    return make_all_windows(story_corpus())


def comparison_of() -> dict:
    """Return `artifacts/heads/comparison.json`, checked."""
    path = artifact("heads", "comparison.json")
    with reading(path):
        return _comparison(str(path), path.stat().st_mtime_ns)


@st.cache_resource(max_entries=2, show_spinner=False)
def _comparison(path: str, changed: int) -> dict:
    return check_comparison(read_json(path))


@st.cache_resource(show_spinner=False)
def course_results() -> dict:
    """Return the course's published results."""
    path = artifact("course.json")
    with reading(path):
        return check_course(read_json(path))
