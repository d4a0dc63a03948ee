"""Tables as they are drawn and as they are downloaded."""

import io
import math
import time

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from wordlm.ui.drawing.tables import table_texts, written_table
from wordlm.ui.frame.export import as_csv

TABLE = pd.DataFrame(
    {
        "head": ["1", "2", "3"],
        "weight": [0.25, 1e-9, 0.0],
        "score": [-0.5, -1e-9, math.inf],
        "perplexity": [1e300, 1234.5, math.nan],
        "steps": [6000, 1320000, -5],
        "ends": [True, False, True],
    }
)
TEXTS = {
    "head": ["1", "2", "3"],
    "weight": ["0.250", "<\u00a00.001", "0"],
    "score": ["−0.500", "−1\u00a0×\u00a010⁻⁹", "infinite"],
    "perplexity": ["1\u00a0×\u00a010³⁰⁰", "1,234.500", ""],
    "steps": ["6000", "1,320,000", "−5"],
    "ends": ["True", "False", "True"],
}


def test_numbers_of_a_table_are_written_by_the_one_rule():
    assert table_texts(TABLE, 3).to_dict("list") == TEXTS


def test_what_is_typed_by_a_visitor_is_given_whole_and_not_by_a_limit():
    assert table_texts(TABLE, 3, limits=False)["weight"].tolist() == ["0.250", "1\u00a0×\u00a010⁻⁹", "0"]


def drawn() -> None:
    from tests.test_tables import TABLE
    from wordlm.ui.drawing.tables import number_table

    number_table(TABLE, alt="A table", help={"score": "What it is"})


def test_a_table_is_drawn_with_these_texts_and_its_values_stay_numbers():
    import pyarrow as pa

    app = AppTest.from_function(drawn).run()
    assert not app.exception
    (element,) = app.dataframe
    pd.testing.assert_frame_equal(element.value, TABLE, check_dtype=False)
    assert [dtype.kind for dtype in element.value.dtypes[1:5]] == ["f", "f", "f", "i"]
    texts = pa.ipc.open_stream(element.proto.arrow_data.styler.display_values).read_pandas()
    assert texts.to_dict("list") == TEXTS


def test_a_downloaded_table_has_the_numbers_as_numbers():
    read = pd.read_csv(io.BytesIO(as_csv(TABLE, index=False)))
    assert read["weight"].tolist() == [0.25, 1e-9, 0.0]
    assert read["perplexity"].tolist()[:2] == [1e300, 1234.5]
    assert read["score"].tolist() == [-0.5, -1e-9, math.inf]


@pytest.mark.parametrize("shape", [(1, 1), (0, 3), (8, 5), (4, 65)])
def test_any_shape_of_table_has_its_texts(shape):
    table = pd.DataFrame(np.random.default_rng(1).normal(size=shape))
    assert written_table(table, 3).data.astype(str).shape == shape


def test_writing_a_table_costs_less_than_two_milliseconds():
    table = pd.DataFrame(np.random.default_rng(1).normal(size=(16, 8)))
    took = []
    for _ in range(50):
        start = time.perf_counter()
        written_table(table, 3)
        took.append(time.perf_counter() - start)
    assert min(took) < 0.002
