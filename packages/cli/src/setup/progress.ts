import type { InstallProgress } from '@acc/native';
import pc from 'picocolors';
import type { Output } from '../launch/screen.js';

const ERASE_LINE = '\r\u001b[K';
const MIB = 2 ** 20;
/** The number of bytes between two progress lines on an output that cannot rewrite lines. */
const LINE_EVERY_BYTES = 50 * MIB;

/** A step that takes longer says so as often: on a terminal, and elsewhere, where each time adds a line. */
const STILL_EVERY_MS = 10_000;
const LINE_EVERY_MS = 60_000;

/**
 * Shows the progress of `acc setup`: one line that rewrites itself on a terminal, and a few whole
 * lines elsewhere.
 */
export class SetupProgress {
  readonly #output: Output;
  #isRewriting = false;
  #lastPhase = '';
  #lastBytes = 0;
  #waiting: NodeJS.Timeout | undefined;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Reports the start of a step that takes some time, and now and then that it still runs. */
  step(what: string, more = ''): void {
    this.#line(`  ${what}${more}`);
    const every = this.#output.isTTY ? STILL_EVERY_MS : LINE_EVERY_MS;
    let seconds = 0;
    this.#waiting = setInterval(() => {
      seconds += every / 1000;
      this.#rewrite(`  still ${what}, ${seconds} s`);
    }, every).unref();
  }

  /** Ends the reports of the last step. */
  close(): void {
    clearInterval(this.#waiting);
  }

  done(text: string): void {
    this.#line(`${pc.green('✓')} ${text}`);
  }

  note(text: string): void {
    this.#line(`${pc.yellow('!')} ${text}`);
  }

  install(event: InstallProgress): void {
    if (event.phase === 'fetch') return this.step(`fetching libtorch from ${event.source}`);
    if (event.phase === 'note') return this.note(event.message);
    const { phase, doneBytes, totalBytes } = event;
    const total = totalBytes === undefined ? '' : ` of ${Math.round(totalBytes / MIB)}`;
    const text = `  ${phase} ${Math.round(doneBytes / MIB)}${total} MiB`;
    if (this.#output.isTTY) {
      this.close();
      this.#rewrite(text);
    } else if (phase !== this.#lastPhase || doneBytes - this.#lastBytes >= LINE_EVERY_BYTES) {
      this.#lastPhase = phase;
      this.#lastBytes = doneBytes;
      this.#line(text);
    }
  }

  /** A line that the next one replaces, on a terminal. */
  #rewrite(text: string): void {
    this.#output.write(this.#output.isTTY ? ERASE_LINE + text : `${text}\n`);
    this.#isRewriting = this.#output.isTTY === true;
  }

  #line(text: string): void {
    this.close();
    this.#output.write(`${this.#isRewriting ? ERASE_LINE : ''}${text}\n`);
    this.#isRewriting = false;
  }
}
