/** The shortest time between two changes of the line. */
const REDRAW_MS = 250;
/** The same for outputs on which lines cannot be rewritten. */
const LOG_MS = 2_000;

/**
 * A line that shows the progress of the training. It is rewritten in place on a terminal, and under
 * a launcher that writes to one. Elsewhere it is printed from time to time.
 */
export class ProgressLine {
  readonly #isRewritten = process.stdout.isTTY || process.env.LOCAL_RANK !== undefined;
  #shownAtMs = -Infinity;
  #isOpen = false;

  /**
   * Shows the result of `text`, unless the last call was only a moment ago. Reading a loss takes
   * time.
   */
  show(text: () => string): void {
    const nowMs = performance.now();
    if (nowMs - this.#shownAtMs < (this.#isRewritten ? REDRAW_MS : LOG_MS)) return;
    this.#shownAtMs = nowMs;
    process.stdout.write(this.#isRewritten ? `\r\x1b[K${text()}` : `${text()}\n`);
    this.#isOpen = this.#isRewritten;
  }

  /** Prints a line that stays, instead of the one that was shown. */
  print(text: string): void {
    process.stdout.write(`${this.#isOpen ? '\r\x1b[K' : ''}${text}\n`);
    this.#isOpen = false;
  }
}
