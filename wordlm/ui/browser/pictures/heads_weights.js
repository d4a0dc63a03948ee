// The weights of the heads' picture: what of a row is shown, how a weight is written, and its colour. Numbers in, words and
// colours out. wordlm/ui/browser/pictures/squares.py draws the same squares as a file; tests/test_squares.py holds their
// colours together.

import { channels } from "./drawing.js";

export const SCALES = {
  root: { name: "square root", share: (w) => Math.sqrt(w), ticks: [0, 0.05, 0.25, 0.5, 1] },
  even: { name: "against looking evenly", share: (w, keys) => Math.log2(Math.max(w * keys, 1)) / 4, ticks: [1, 2, 4, 8, 16] },
  absolute: { name: "0 to 1", share: (w) => w, ticks: [0, 0.25, 0.5, 0.75, 1] },
  "per view": { name: "0 to the largest", share: (w, _keys, largest) => w / largest, ticks: [0, 0.25, 0.5, 0.75, 1] },
  logarithmic: { name: "logarithmic", share: (w) => 1 + Math.log10(Math.max(w, 1e-4)) / 4, ticks: [0.0001, 0.001, 0.01, 0.1, 1] },
};

// Row i of a head holds i + 1 weights, one row after the other.
export const rowStart = (i) => (i * (i + 1)) / 2;

export function unpack(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

// What is shown of a row's weights: all, without the first key, or that with the rest scaled up to 1.
export function shownRow(row, first) {
  if (first === "shown" || row.length < 2) return Array.from(row);
  const rest = row.slice(1).reduce((sum, w) => sum + w, 0);
  return Array.from(row, (w, key) => (key === 0 ? NaN : first.endsWith("up") && rest > 0 ? w / rest : w));
}

// The colour of a weight: from nothing, which is the page's own background, to the head's hue; grey where less than even.
// A difference has a hue of its own where it is negative.
export function colour(w, keys, hue, scale, largest, negative = null) {
  if (negative && w < 0) return colour(-w, keys, negative, scale === "even" ? "root" : scale, largest);
  if (negative && scale === "even") return colour(w, keys, hue, "root", largest);
  if (!(w >= 0)) return null;
  const rgb = channels(hue).join(" ");
  if (scale === "even" && w * keys < 1) return `rgb(128 128 128 / ${(0.35 * (1 - w * keys)).toFixed(3)})`;
  const share = Math.min(1, Math.max(0, SCALES[scale].share(w, keys, largest)));
  return `rgb(${rgb} / ${share.toFixed(3)})`;
}

// Black or white, whichever has the better contrast (WCAG 2.2, relative luminance) on a tint over the page's background.
export function inkOn(tint, background) {
  const [r, g, b, share] = tint ? tint.match(/[\d.]+/g).map(Number) : [0, 0, 0, 0];
  const behind = channels(background);
  const light = [r, g, b]
    .map((value, i) => (share * value + (1 - share) * behind[i]) / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
  return (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) ? "#000" : "#fff";
}
