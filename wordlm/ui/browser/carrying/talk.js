// What a visitor chose in a picture, said to the server as a whole: of several messages only the last may arrive, and a
// server that was started anew knows of none. Messages are numbered; the server says which one it heard last.

export class Talk {
  /**
   * What is chosen: as said here last, or else as the server says.
   * @type {import("./messages.js").Chosen}
   */
  chosen = {};
  #said = 0;
  #heard = 0;
  #answers = 0; // since the last message, of a server that had not heard it

  /** Whether the server has not yet heard of what was said last. */
  get isOpen() {
    return this.#said > this.#heard;
  }

  /**
   * Take what the server says: the number of the last message that it `heard`, and what is `chosen`.
   * Returns whether it has lost what was said here, so that it must be said again.
   * @param {number} heard
   * @param {import("./messages.js").Chosen} chosen
   */
  hear(heard, chosen) {
    const anew = heard < this.#heard, wasOpen = this.isOpen;
    this.#heard = heard;
    this.#answers += 1;
    // One answer may have been on its way when the message was said; a second one tells that it was lost.
    const lost = wasOpen && (anew || (heard < this.#said && this.#answers > 1));
    if (anew || heard > this.#said) this.#said = heard;
    if (!lost && !this.isOpen) this.chosen = chosen;
    return lost;
  }

  /**
   * Choose some things anew; returns the message that says all that is chosen.
   * @param {import("./messages.js").Chosen} changes
   * @returns {import("./messages.js").Said}
   */
  say(changes) {
    this.chosen = { ...this.chosen, ...changes };
    this.#said += 1;
    this.#answers = 0;
    return { at: this.#said, ...this.chosen };
  }
}
