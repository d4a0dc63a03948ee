// Cuts a prompt in the browser as wordlm/text.py does (`encode_prompt`, `_read`, `_cut`);
// tests/test_browser_forward.py holds the two together.
//
// Which characters are letters, digits or marks, what their plain and lower-case forms are: all that comes from Python's
// own Unicode (`tokenizer_tables` in wordlm/ui/browser/model/layout.py), since a browser's is another version. Only NFC is the
// browser's: what is assigned never changes there, and what Python does not know yet is kept away from it.

export const BOS = 1, UNK = 3;
const SPECIALS = 4; // how many words at the start of a vocabulary no text can spell

// biome-ignore lint/suspicious/noMisleadingCharacterClass: each of them alone is meant.
const LOOKS = /[\u20e3\ufe00-\ufe0f\u{e0020}-\u{e007f}\u{e0100}-\u{e01ef}]*/uy;
const JOINER_IN_LATIN = /([a-z\u00c0-\u024f])[\u200c\u200d]/gu;
const LONE_SURROGATE = /[\ud800-\udfff]/gu;
const ASCII = /^[\0-\x7f]*$/;

/** What the model reads of a typed text, and what was done to it on the way: `EncodedPrompt`. */
export class EncodedPrompt {
  constructor(textIds, textTyped, textTokens, contextLen) {
    this.textIds = textIds;
    this.textTyped = textTyped;
    this.textTokens = textTokens;
    this.contextLen = contextLen;
    this.dropped = Math.max(0, textIds.length - contextLen);
    this.ids = textIds.slice(this.dropped);
    this.typed = textTyped.slice(this.dropped);
    this.tokens = textTokens.slice(this.dropped);
    this.positions = this.ids.map((_, place) => this.dropped + place);
    this.padding = contextLen - this.ids.length;
    this.unknown = this.ids.filter((id) => id === UNK).length;
    this.labels = this.typed.map((word, place) => `${this.positions[place]} · ${word}`);
  }

  /** All ids that any kept position reads as the last one: what `rowsOf` needs. */
  get reach() {
    return this.textIds.slice(Math.max(0, this.dropped - this.contextLen + 1));
  }

  /** Return the text as read up to the kept position at index `place`: what that word sees as the last one. */
  upTo(place) {
    const end = this.dropped + place + 1;
    return new EncodedPrompt(
      this.textIds.slice(0, end), this.textTyped.slice(0, end), this.textTokens.slice(0, end), this.contextLen,
    );
  }
}

export class Tokenizer {
  /** `tables` are those of `tokenizer_tables`, `itos` are the words of the model's vocabulary. */
  constructor(tables, itos) {
    this.itos = itos;
    this.ids = new Map(itos.map((word, id) => [word, id]).slice(SPECIALS));
    this.plain = forms(tables.plain);
    this.lowerForms = forms(tables.lower);
    this.cased = members(tables.cased);
    this.ignorable = members(tables.ignorable);
    this.unassigned = new RegExp(`([${ranges(tables.unassigned)}]+)`, "u");
    this.token = tokenPattern(tables, "'");
    this.tokenOfAPrompt = tokenPattern(tables, "'`");
  }

  /** Encode a text as the model was trained: the start mark, the words, cut on the left to `contextLen`. */
  encodePrompt(text, contextLen = 64) {
    const pairs = this.read(text);
    const ids = [BOS, ...pairs.map(([, token]) => this.ids.get(token) ?? UNK)];
    const typed = [this.itos[BOS], ...pairs.map(([surface]) => surface)];
    return new EncodedPrompt(ids, typed, ids.map((id) => this.itos[id]), contextLen);
  }

  /** Cut a prompt into [typed form, token] pairs; what the vocabulary lacks is read as its plain form. As `_read`. */
  read(text) {
    const pairs = [];
    for (const [typed, token] of this.cut(text, this.tokenOfAPrompt)) {
      const plain = token === "…" ? "." : token.replaceAll("`", "'");
      if (plain === token || this.ids.has(token)) pairs.push([typed, token]);
      else if (this.ids.has(plain)) pairs.push([typed, plain]);
      else pairs.push(...this.cut(typed));
    }
    return pairs;
  }

  /** Cut a text into [typed form, token] pairs. The typed forms are pieces of the text in NFC. As `_cut`. */
  cut(text, pattern = this.token) {
    if (ASCII.test(text)) return Array.from(text.matchAll(pattern), ([match]) => [match, match.toLowerCase()]);
    // No token holds half a character; without this, two halves could become a whole one when what parts them goes.
    text = this.normalize(text.replace(LONE_SURROGATE, "\0"));
    let plain = "";
    const starts = [], ends = []; // for each unit of the plain text, where its typed character starts and ends
    let end = 0;
    for (const typed of text) {
      const form = this.plain.get(typed) ?? typed;
      const start = end;
      end += typed.length;
      plain += form;
      for (let unit = 0; unit < form.length; unit++) {
        starts.push(start);
        ends.push(end);
      }
    }
    return Array.from(plain.matchAll(pattern), (match) => {
      LOOKS.lastIndex = ends[match.index + match[0].length - 1];
      LOOKS.test(text);
      return [text.slice(starts[match.index], LOOKS.lastIndex), this.tokenOf(match[0])];
    });
  }

  tokenOf(match) {
    if (ASCII.test(match)) return match.toLowerCase();
    const token = this.lower(match);
    return ASCII.test(token) ? token : this.normalize(token).replace(JOINER_IN_LATIN, "$1");
  }

  /** NFC as Python has it. A character that Python does not know stands alone there: nothing joins it or moves past it. */
  normalize(text) {
    return text
      .split(this.unassigned)
      .map((piece, i) => (i % 2 ? piece : piece.normalize("NFC")))
      .join("");
  }

  /** Python's `str.lower`. */
  lower(text) {
    const characters = Array.from(text);
    return characters
      .map((character, i) => {
        if (character === "Σ") return this.endsWord(characters, i) ? "ς" : "σ";
        return this.lowerForms.get(character) ?? character;
      })
      .join("");
  }

  /** Whether the sigma at `i` has a cased letter before it and none after it. */
  endsWord(characters, i) {
    let before = i - 1, after = i + 1;
    while (before >= 0 && this.ignorable.has(characters[before])) before--;
    while (after < characters.length && this.ignorable.has(characters[after])) after++;
    return this.cased.has(characters[before]) && !this.cased.has(characters[after]);
  }
}

function tokenPattern(tables, apostrophes) {
  const [letters, digits, marks, controls, spaces, word] = ["letters", "digits", "marks", "controls", "spaces", "word"].map(
    (name) => ranges(tables[name]),
  );
  const wordPart = `(?:[${letters}][${marks}]*)+`;
  return new RegExp(
    `${wordPart}(?:[${apostrophes}\\u200c\\u200d]${wordPart})*` + // a word
      `|[${digits}]+(?:[.,][${digits}]+)*[${marks}]*` + // a number
      // one visible character or joined ones
      `|[^${spaces}${controls}][${marks}]*(?:\\u200d[^${spaces}${word}${controls}][${marks}]*)*`,
    "gu",
  );
}

/** Yield the first and the last code of each range of a table [gap, length, gap, length, ...]. */
function* spans(table) {
  let end = 0;
  for (let i = 0; i < table.length; i += 2) {
    const first = end + table[i];
    end = first + table[i + 1];
    yield [first, end - 1];
  }
}

function ranges(table) {
  const escaped = (code) => `\\u{${code.toString(16)}}`;
  return Array.from(spans(table), ([first, last]) => `${escaped(first)}-${escaped(last)}`).join("");
}

function members(table) {
  const characters = new Set();
  for (const [first, last] of spans(table))
    for (let code = first; code <= last; code++) characters.add(String.fromCodePoint(code));
  return characters;
}

/** Return the form of each character of a table of `_runs`. */
function forms(runs) {
  const found = new Map();
  for (const run of runs) {
    if (run.length === 2) {
      found.set(String.fromCodePoint(run[0]), run[1]);
      continue;
    }
    const [first, last, step, distance] = run;
    for (let code = first; code <= last; code += step)
      found.set(String.fromCodePoint(code), String.fromCodePoint(code + distance));
  }
  return found;
}
