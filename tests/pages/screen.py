"""Opening a page without a browser, and reading what is on it."""

import base64
import functools
import json
import re
from urllib.parse import parse_qs

import numpy as np
from streamlit.components.v2 import manifest_scanner
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.testing.v1 import AppTest

from wordlm.files import REPOSITORY

# Every AppTest would look through all installed packages for components: a third of the time of these tests.
manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)


class Screen:
    """A page as a visitor has it before them.

    `held` is what the controls of a browser hold that had the page open before this session.
    """

    def __init__(
        self, page: str, prompt: str | None, params: dict[str, str | list[str]], held: WidgetStates | None = None
    ) -> None:
        self.app = AppTest.from_file(str(REPOSITORY / "app.py"), default_timeout=60)
        for name, value in params.items():
            self.app.query_params[name] = value
        if page == "explore" and "form" not in params:
            self.app.query_params["form"] = "cells"  # the whole model is drawn by the browser alone
        if page != "explore":
            self.app.switch_page(f"pages/{page}.py")
        self.app._run(held)
        if prompt is not None:
            self.app.text_input(key="prompt").set_value(prompt).run()
        assert not self.app.exception, self.app.exception

    @property
    def held(self) -> WidgetStates:
        """What the browser sends of its controls with the next input."""
        return self.app._tree.get_widget_states()

    @property
    def address(self) -> dict[str, list[str]]:
        """The parameters that the page writes into the address bar."""
        data = next(e.proto.json for e in self.app.get("bidi_component") if e.key == "address")
        return parse_qs(json.loads(data)["query"], keep_blank_values=True)

    @property
    def not_carried(self) -> list[str]:
        """What is said to be missing when the link is copied."""
        return json.loads(next(e.proto.json for e in self.app.get("bidi_component") if e.key == "copy_link"))["missing"]

    @property
    def picture(self) -> dict:
        """What the heads' picture is given to draw."""
        return self.picture_of("heads")

    def picture_of(self, key: str) -> dict:
        """What one of several is given, its rows as (panes, n, n), NaN above the diagonal."""
        data = json.loads(next(e.proto.json for e in self.app.get("bidi_component") if e.key == key))["picture"]
        n = len(data["words"])
        lower = np.tril_indices(n)
        rows = np.full((len(data["heads"]), n, n), np.nan)
        packed = np.frombuffer(base64.b64decode(data["rows"]), np.float32)
        rows[:, lower[0], lower[1]] = packed.reshape(len(data["heads"]), -1)
        return data | {"rows": rows}

    @property
    def whole_model(self) -> dict:
        """What the browser is given to calculate and draw the whole model."""
        return json.loads(next(e.proto.json for e in self.app.get("bidi_component") if e.key == "block"))["picture"]

    def figure(self, key: str) -> dict:
        return json.loads(next(e.proto.spec for e in self.app.get("plotly_chart") if e.key == key))

    def table(self, alt: str):
        """The table whose accessible name contains `alt`; where it is not in view, after all is opened that opens."""
        if not self.has_table(alt):
            self.open_numbers()
        return next(e.value for e in self.app.dataframe if alt in e.proto.alt)

    def open_numbers(self) -> None:
        """Press on each "In numbers" that is closed."""
        for name in [name for name in self.app.session_state["drawn"] if name.startswith("table_")]:
            self.app.session_state[name] = True
        self.app.run()
        assert not self.app.exception, self.app.exception

    def has_table(self, alt: str) -> bool:
        return any(alt in e.proto.alt for e in self.app.dataframe)

    @property
    def text(self) -> str:
        """Every sentence on the page, HTML included as it is, links to the glossary as their words, spaces plain."""
        return re.sub(r"\[([^\]]*)\]\(learn\?part=glossary[^)]*\)", r"\1", self.markdown).replace("\u00a0", " ")

    @property
    def markdown(self) -> str:
        """The same as it is written, links included."""
        kinds = ("markdown", "caption", "info", "warning", "success", "error", "subheader")
        said = [element.value for kind in kinds for element in getattr(self.app, kind)]
        return " ".join([*said, *(element.proto.body for element in self.app.get("html"))])


def array(value) -> np.ndarray:
    """Read an array of a figure: base64 with a dtype, or a plain list with None for NaN."""
    if not isinstance(value, dict):
        return np.array(value, float)
    flat = np.frombuffer(base64.b64decode(value["bdata"]), np.dtype(value["dtype"]))
    return flat.reshape([int(side) for side in str(value["shape"]).split(",")]) if "shape" in value else flat


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits.astype(float) - logits.max())
    return powers / powers.sum()
