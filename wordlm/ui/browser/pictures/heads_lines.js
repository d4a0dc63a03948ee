// The heads' weights as lines between the words.

import { drawn, element } from "./drawing.js";

// The same weights as lines: from the word that looks, below, to the words that it looks at, above.
export function lines(view) {
  const { data, row, n } = view;
  const side = view.across ? n * (view.column + 1) : n * 22;
  const reach = view.across ? (data.large ? 130 : 210) : Math.min(220, view.width - 130);
  const at = (word, looks) => {
    const along = (view.across && data.direction === "rtl" ? n - word - 0.5 : word + 0.5) * (side / n);
    return view.across ? [along, looks ? reach - 4 : 4] : [looks ? reach - 4 : 4, along];
  };
  const svg = drawn("svg", {
    class: "lines",
    width: view.across ? side : reach,
    height: view.across ? reach : side,
    role: "img",
    "aria-label": "Lines from each word to the words that it looks at; a thicker line is a larger weight",
  });
  const line = (h, query, key, w, strength) => {
    const [[x0, y0], [x1, y1]] = [at(query, true), at(key, false)];
    const shift = (h - (data.heads.length - 1) / 2) * Math.min(5, view.column / (data.heads.length + 1));
    const [dx, dy] = view.across ? [shift, 0] : [0, shift];
    const bend = view.across ? `${x0 + dx} ${(y0 + y1) / 2} ${x1 + dx} ${(y0 + y1) / 2}` : `${(x0 + x1) / 2} ${y0 + dy} ${(x0 + x1) / 2} ${y1 + dy}`;
    svg.append(drawn("path", {
      d: `M ${x0 + dx} ${y0 + dy} C ${bend} ${x1 + dx} ${y1 + dy}`,
      fill: "none",
      stroke: data.heads[h].hue,
      "stroke-width": Math.max(0.6, 9 * w * (strength < 1 ? 0.4 : 1)),
      "stroke-opacity": strength * Math.min(1, 0.12 + Math.sqrt(w)),
    }));
  };
  for (const [h, head] of data.heads.entries()) {
    if (!head.on || head.negative) continue;
    for (let query = 0; query < n; query++) {
      const strength = query === data.query ? 1 : n <= 24 ? 0.12 : 0;
      if (strength) for (const [key, w] of row(h, query).entries()) if (w > 0.005) line(h, query, key, w, strength);
    }
  }
  const looks = element("div", { className: `looks ${view.across ? "across" : "down"} ${view.upright ? "turned" : ""}`, aria: { hidden: true } },
    data.words.map((word, i) => element("bdi", { textContent: word.typed, className: i === data.query ? "query" : "" })));
  looks.style.setProperty("--column", `${view.across ? view.column + 1 : 22}px`);
  return element("div", { className: `linked ${view.across ? "across" : "down"}`, data: { focus: `lines of ${n}` }, dir: data.direction, style: { marginInlineStart: view.across ? `${view.names}px` : 0 } },
    [svg, looks]);
}
