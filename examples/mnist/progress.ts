/** How often the line changes, at most. */
const REDRAW_MS = 250;
/** The same where lines can't be rewritten. */
const LOG_MS = 2_000;

/**
 * A line that tells how far training is. On a terminal, and under a launcher, which passes it on to one, it is rewritten in
 * place; elsewhere it is printed anew now and then.
 */
export class ProgressLine {
  readonly #isRewritten = process.stdout.isTTY || process.env.LOCAL_RANK !== undefined;
  #shownAtMs = -Infinity;
  #isOpen = false;

  /** Shows what `text` gives, unless the last time was only a moment ago: reading a loss costs time. */
  show(text: () => string): void {
    const nowMs = performance.now();
    if (nowMs - this.#shownAtMs < (this.#isRewritten ? REDRAW_MS : LOG_MS)) return;
    this.#shownAtMs = nowMs;
    process.stdout.write(this.#isRewritten ? `\r\x1b[K${text()}` : `${text()}\n`);
    this.#isOpen = this.#isRewritten;
  }

  /** Prints a line that stays, in place of the one that was shown. */
  print(text: string): void {
    process.stdout.write(`${this.#isOpen ? '\r\x1b[K' : ''}${text}\n`);
    this.#isOpen = false;
  }
}
