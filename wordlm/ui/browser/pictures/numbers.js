// How a number is written, and what is counted and listed: the twin of wordlm/numbers.py. The cases in
// tests/number_cases.json hold the two together. The spaces within a number do not break.

const RAISED_DIGITS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

/** Return a number with so many decimals, or more where fewer than two of its digits would be left; as `written`. */
export function number(value, decimals = 3) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "not a number" : value > 0 ? "infinite" : "minus infinity";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e6) return powerOfTen(value);
  return plainNumber(value, Math.max(decimals, 1 - Math.floor(Math.log10(size))));
}

/** Return a number with its sign, for what is added. */
export const signedNumber = (value, decimals = 3) => `${value > 0 ? "+" : ""}${number(value, decimals)}`;

/** Return a weight or a probability; what is nearly 0 or nearly 1 is given by a limit, as `written` does with `limit`. */
export function portion(value, decimals = 3) {
  return nearALimit(value, decimals) ?? (value === 0 ? "0" : plainNumber(value, decimals));
}

/** Return the difference of two weights or probabilities with its sign, as `signed` does with `limit`. */
export const signedPortion = (value, decimals = 3) =>
  nearALimit(value, decimals) ?? `${value > 0 ? "+" : ""}${portion(value, decimals)}`;

/** Return a share as a percentage: "33.3 %", "< 0.1 %", "100 %". */
export function percent(share, decimals = 1) {
  const limit = nearALimit(share, decimals + 2, 100);
  return `${limit ?? (share === 0 || share === 1 ? 100 * share : plainNumber(100 * share, decimals))}\u00a0%`;
}

/** Return a whole number with separators: "1,234". */
export const count = (whole) => plainNumber(whole, 0);

/** Return "1 word", "1,200 words". */
export const counted = (whole, thing) => `${count(whole)} ${thing}${whole === 1 ? "" : "s"}`;

/** Return "1", "1 and 2", "1, 2 and 3". */
export const listed = (items) => [items.slice(0, -1).join(", "), ...items.slice(-1)].filter((part) => part !== "").join(" and ");

/** Return "head 2", "heads 1, 3 and 4". */
export const numbered = (thing, numbers) => `${thing}${numbers.length === 1 ? "" : "s"} ${listed(numbers.map(String))}`;

/**
 * Return numbers with so many decimals each, and their sum, that add up as they are written.
 *
 * Each is the number below or above; those furthest from the one below go up, until the parts are the rounded sum, or
 * `sum` where that was rounded elsewhere.
 */
export function summands(parts, decimals = 3, sum = null) {
  const unit = 10 ** decimals;
  const total = Math.round(unit * (sum ?? parts.reduce((all, part) => all + part, 0)));
  const down = parts.map((part) => Math.floor(unit * part));
  const order = parts.map((part, i) => [unit * part - down[i], i]).sort(([a, i], [b, j]) => b - a || i - j);
  const up = total - down.reduce((all, part) => all + part, 0);
  for (const [, i] of order.slice(0, Math.max(0, up))) down[i]++;
  return { parts: down.map((part) => part / unit), sum: total / unit };
}

/** Return a number that was rounded to so many decimals, with all of them: "0.000"; a zero has no sign. */
export const rounded = (value, decimals = 3) => plainNumber(value, decimals);

/** Return a rounded number with its sign; a zero has none. */
export function signedRounded(value, decimals = 3) {
  const text = plainNumber(value, decimals);
  return value > 0 && /[1-9]/.test(text) ? `+${text}` : text;
}

function nearALimit(value, decimals, times = 1) {
  const smallest = 10 ** -decimals, written = (limit) => plainNumber(times * limit, decimals - Math.round(Math.log10(times)));
  if (value !== 0 && Math.abs(value) < smallest) return value > 0 ? `<\u00a0${written(smallest)}` : `>\u00a0${written(-smallest)}`;
  const size = Math.abs(value);
  if (size < 1 && Number(size.toFixed(decimals)) === 1) return value > 0 ? `>\u00a0${written(1 - smallest)}` : `<\u00a0${written(smallest - 1)}`;
  return null;
}

function plainNumber(value, decimals) {
  const [whole, ...rest] = Math.abs(value).toFixed(decimals).split(".");
  const text = [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...rest].join(".");
  return value < 0 && /[1-9]/.test(text) ? `−${text}` : text;
}

function powerOfTen(value) {
  const [digits, exponent] = Math.abs(value).toExponential(3).split("e");
  const raised = exponent.replace("+", "").replace(/./g, (c) => RAISED_DIGITS[c]);
  return `${value < 0 ? "−" : ""}${digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits}\u00a0×\u00a010${raised}`;
}
