// What comes from the server and what goes back, as `messages.py` has it, for the type checker: no code.
// tests/test_messages.py holds the two together.

/**
 * Bytes that the browser fetches as it fetches a picture.
 *
 * @typedef {object} OfferedFile
 * @property {string} url
 * @property {string} digest
 * @property {number} bytes
 * @property {boolean} keep
 */

/**
 * What `readModel` needs beside the bytes of a model's parameters.
 *
 * @typedef {object} Layout
 * @property {string} kind
 * @property {number | null} heads
 * @property {number | null} kvHeads
 * @property {number} vocabSize
 * @property {number} contextLen
 * @property {number} dModel
 * @property {number} hidden
 * @property {Record<string, number[]>} arrays
 */

/**
 * A model that the browser may fetch and read with.
 *
 * @typedef {object} OfferedModel
 * @property {string} title
 * @property {OfferedFile} weights
 * @property {Layout} layout
 * @property {OfferedFile} vocabulary
 */

/**
 * A word of the text.
 *
 * @typedef {object} Place
 * @property {string} label
 * @property {number} position
 */

/**
 * What is chosen in a picture. A message says all that its picture lets one choose, never a change alone.
 *
 * @typedef {object} Chosen
 * @property {Place | null} [query]
 * @property {Place | null} [key]
 * @property {number} [head]
 * @property {number[]} [off]
 * @property {string} [form]
 * @property {string} [beside]
 * @property {string} [scale]
 * @property {string} [first]
 * @property {string | null} [prompt]
 * @property {string | null} [word]
 * @property {boolean} [made]
 */

/**
 * What a picture tells the server.
 *
 * @typedef {object} Said
 * @property {Place | null} [query]
 * @property {Place | null} [key]
 * @property {number} [head]
 * @property {number[]} [off]
 * @property {string} [form]
 * @property {string} [beside]
 * @property {string} [scale]
 * @property {string} [first]
 * @property {string | null} [prompt]
 * @property {string | null} [word]
 * @property {boolean} [made]
 * @property {number} at
 */

/**
 * The server's own numbers, for what it read.
 *
 * @typedef {object} Confirm
 * @property {string} text
 * @property {number} position
 * @property {number[]} off
 * @property {[number, number][]} words
 * @property {number[] | null} weights
 */

/**
 * What the whole model's picture is given.
 *
 * @typedef {object} BlockData
 * @property {number} [heard]
 * @property {Chosen} chosen
 * @property {string} text
 * @property {boolean} follows
 * @property {OfferedModel[]} models
 * @property {[string, string][]} others
 * @property {boolean} forms
 * @property {boolean} welcome
 * @property {boolean} large
 * @property {string[]} hues
 * @property {Confirm} confirm
 */

/**
 * A word of the text as the heads' picture draws it.
 *
 * @typedef {object} DrawnWord
 * @property {string} label
 * @property {number} position
 * @property {string} typed
 * @property {string} token
 * @property {number} id
 * @property {string} sort
 */

/**
 * A pane of the heads' picture.
 *
 * @typedef {object} DrawnHead
 * @property {string} title
 * @property {string} hue
 * @property {boolean} on
 * @property {string | null} negative
 */

/**
 * A likely next word: its probability, and where something was changed that `after` it.
 *
 * @typedef {object} DrawnNext
 * @property {string} word
 * @property {number} before
 * @property {number | null} after
 */

/**
 * What the heads' picture, cells or lines, is given.
 *
 * @typedef {object} HeadsData
 * @property {number} [heard]
 * @property {Chosen} chosen
 * @property {DrawnWord[]} words
 * @property {DrawnHead[]} heads
 * @property {string} direction
 * @property {string} rows
 * @property {number[][] | null} scores
 * @property {number[] | null} beyond
 * @property {number} reads
 * @property {number} query
 * @property {number} head
 * @property {number} key
 * @property {string} form
 * @property {string} scale
 * @property {string} first
 * @property {boolean} large
 * @property {boolean} switches
 * @property {boolean} compared
 * @property {string} without
 * @property {DrawnNext[]} next
 */

export {};
