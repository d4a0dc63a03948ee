"""The curves of a training: nothing of them is cut off."""

import numpy as np

from wordlm.ui.drawing.charts import loss_curves

LOSSES = list(np.linspace(4.0, 0.1, 100))


def test_validation_that_rises_is_shown_whole():
    figure = loss_curves(LOSSES, {10: 4.9, 100: 15.1}, kept=10)
    assert list(figure.data[2].y) == [4.9, 15.1]
    assert figure.layout.yaxis.range is None, "Plotly's own range covers all"
    assert figure.layout.yaxis.type is None
    assert "logarithmic" not in figure.layout.yaxis.title.text


def test_a_run_gone_astray_has_a_logarithmic_axis_that_says_so():
    figure = loss_curves([4.0, 90.0, 3000.0], {3: 5000.0})
    assert figure.layout.yaxis.range is None
    assert (figure.layout.yaxis.type, "logarithmic" in figure.layout.yaxis.title.text) == ("log", True)


def test_the_step_that_is_kept_is_marked_once_it_is_known():
    assert not loss_curves(LOSSES, {10: 4.9}).layout.shapes
    figure = loss_curves(LOSSES, {10: 4.9, 100: 15.1}, kept=10)
    assert [shape.x0 for shape in figure.layout.shapes] == [10]
    assert [note.text for note in figure.layout.annotations] == ["kept"]
