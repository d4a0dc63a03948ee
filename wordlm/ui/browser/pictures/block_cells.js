// The matrices of the whole model's picture, drawn on a canvas, and what a pointer over them meets.

import { HUES, channels } from "./drawing.js";
import { matrix, sayPair, stepOf } from "./block_stages.js";

const FRAME = "rgb(128 128 128 / 0.5)";
const NOT_YET = 0.25; // how much is seen of what a later step makes

/**
 * Draw the matrices of a view on a canvas that is as large as the layout; returns the regions that a pointer meets:
 * { box, rows, columns, say(row, column), press(row, column) }.
 */
export function drawMatrices(canvas, view, { step, alone }, layout, hues, scale, actions) {
  const ratio = (window.devicePixelRatio || 1) * scale;
  canvas.width = Math.round(layout.width * ratio);
  canvas.height = Math.round(layout.height * ratio);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const { model, read, query } = view;
  const shown = query + 1, regions = [];
  const seen = (name) => { context.globalAlpha = step && stepOf(model, name) > step ? NOT_YET : 1; };
  const drawing = {
    context,
    view,
    layout,
    step,
    hue: hues.map(channels),
    plain: channels(HUES.plain),
    beyond: read.ids.length - shown, // words that are read but no longer shown
    shown,
    put(one, where, rgb, { say = one.say, alphas = null, stage = one.name, head = view.head } = {}) {
      seen(one.name);
      drawCells(context, one, where, rgb, alphas);
      regions.push({ box: where, rows: one.rows, columns: one.columns, say, press: () => actions.stage(stage, head) });
    },
    frame(name, where, colour, width = 1) {
      seen(name);
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.strokeRect(where.x, where.y, where.width, where.height);
    },
  };
  const embedding = matrix(view, "embedding");
  drawing.put(rowsShown(drawing, embedding), column(drawing, layout.embedding.x, layout.embedding.width), () => drawing.plain, { say: fromFirstShown(drawing, embedding.say) });
  for (const one of layout.lanes) {
    drawLane(drawing, one, (read.headsOn[one.head] ? 1 : 0.25) * (alone && one.head !== view.head ? 0.25 : 1));
    regions.push({
      box: { x: one.from, y: layout.top, width: one.to - one.from, height: shown * layout.rowHeight },
      rows: shown,
      columns: 1,
      say: (row) => sayPair(view, one.head, row + drawing.beyond),
      press: (row) => actions.pair(one.head, row),
    });
  }
  separateRows(drawing);
  drawing.frame("embedding", { x: layout.embedding.x - 1, y: layout.top + query * layout.rowHeight, width: layout.embedding.width + 2, height: layout.rowHeight }, HUES.query, 1.5);
  drawRest(drawing);
  return regions;
}

/** The keys, values, query and message of one head; `faint` is how much is seen of them. */
function drawLane(drawing, one, faint) {
  const { view, layout, step, hue, shown, beyond, put, frame } = drawing;
  const { model, read } = view, { head } = one, n = read.ids.length;
  const rgb = () => hue[head];
  if (one.strip) {
    const keys = matrix(view, "keys", head), values = matrix(view, "values", head);
    put(rowsShown(drawing, keys), column(drawing, one.x, one.strip), rgb, { say: fromFirstShown(drawing, keys.say), alphas: new Float32Array(shown).fill(faint), stage: "keys", head });
    // A value that hardly counts is faint, since it is handed on by its weight.
    const alphas = Float32Array.from({ length: shown }, (_, j) => faint * (step === 3 ? 1 : 0.12 + 0.88 * Math.sqrt(read.weights[head * n + beyond + j])));
    put(rowsShown(drawing, values), column(drawing, one.to + 4, one.strip), rgb, { say: fromFirstShown(drawing, values.say), alphas, stage: "values", head });
    const queries = matrix(view, "queries");
    const where = { x: one.x, y: layout.bottom + 10, width: one.width - one.strip - 4, height: 10 };
    put({ ...queries, rows: 1, from: head * model.headWidth }, where, rgb, { say: (_, k) => queries.say(head, k), alphas: [faint], stage: "queries", head });
  }
  const messages = matrix(view, "messages"), where = { x: one.x, y: layout.top - 30, width: one.width, height: 13 };
  put({ ...messages, rows: 1, from: head * model.messageWidth }, where, rgb, { say: (_, k) => messages.say(head, k), alphas: [faint], stage: "messages", head });
  frame("messages", where, FRAME);
}

/** What follows for the chosen word alone, and the slots of the MLP. */
function drawRest({ view, layout, hue, plain, put, frame }) {
  const { model } = view;
  if (model.kind === "mlp") {
    put(matrix(view, "slots"), layout.slots, () => plain);
    frame("slots", layout.slots, FRAME);
  }
  for (const { name, y, height } of layout.rest) {
    const rgb = name === "beside" ? (cell) => hue[Math.floor(cell / model.messageWidth)] : () => plain;
    const where = { x: layout.right.x, y, width: layout.right.width, height };
    put(matrix(view, name), where, rgb);
    frame(name, where, name === "word" ? HUES.query : FRAME);
  }
}

/** Between rows a hair of the page, so that each word has its own line. */
function separateRows({ context, layout, shown }) {
  if (layout.rowHeight <= 5) return;
  context.globalAlpha = 1;
  const gap = layout.rowHeight > 12 ? 4 : 1.4;
  const last = layout.lanes.at(-1) ?? layout.embedding;
  for (let j = 0; j <= shown; j++) context.clearRect(0, layout.top + j * layout.rowHeight - gap / 2, last.x + last.width + 2, gap);
}

const rowsShown = ({ shown, beyond }, one) => ({ ...one, rows: shown, from: one.from + beyond * one.columns });
const fromFirstShown = ({ beyond }, say) => (row, cell) => say(row + beyond, cell);
const column = ({ layout, shown }, x, width) => ({ x, y: layout.top, width, height: shown * layout.rowHeight });

let small = null; // older Safari has no OffscreenCanvas

/** Draw a matrix into a box, a cell a value: the hue where it is above 0, grey below, the deeper the further from 0. */
function drawCells(context, one, box, rgb, alphas) {
  const { rows, columns, values, from } = one, most = furthestFromZero(one);
  const below = channels(HUES.below), image = new ImageData(columns, rows);
  for (let cell = 0; cell < rows * columns; cell++) {
    const value = values[from + cell];
    image.data.set(value > 0 ? rgb(cell) : below, 4 * cell);
    image.data[4 * cell + 3] = 255 * Math.min(1, Math.abs(value) / most) * (alphas ? alphas[Math.floor(cell / columns)] : 1);
  }
  small ??= document.createElement("canvas"); // one for all: making one takes longer than drawing
  [small.width, small.height] = [columns, rows];
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, box.x, box.y, box.width, box.height);
}

/** Return how far from 0 a matrix's numbers reach. */
export function furthestFromZero({ values, from, rows, columns }) {
  let most = 1e-9;
  for (let i = from; i < from + rows * columns; i++) most = Math.max(most, Math.abs(values[i]));
  return most;
}
