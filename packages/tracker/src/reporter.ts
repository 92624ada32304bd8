import { briefly } from './errors.js';

/** What the user hears of one tracker: each kind of thing once, and again only after it was over. */
export class Reporter {
  readonly #name: string;
  readonly #warn: (message: string) => void;
  readonly #said = new Set<string>();
  #isDown = false;

  constructor(name: string, warn: (message: string) => void) {
    this.#name = name;
    this.#warn = warn;
  }

  down(error: unknown): void {
    if (this.#isDown) return;
    this.#isDown = true;
    this.#say(`${briefly(error)} What is logged meanwhile is kept, and sent when it answers again.`);
  }

  back(): void {
    if (this.#isDown) this.#say('it answers again.');
    this.#isDown = false;
  }

  refused(error: unknown): void {
    this.#once(
      'refused',
      `it took something not: ${briefly(error)} Training goes on; how much was lost is said in the end.`,
    );
  }

  slow(ms: number): void {
    this.#once('slow', `a call held up training for ${ms.toFixed(0)} ms. Have it return a promise.`);
  }

  disk(error: Error): void {
    this.#once('disk', `nothing more can be kept on disk: ${briefly(error)}`);
  }

  /** @param reason Why the tracker takes nothing any more. */
  ended(reason: unknown): void {
    this.#once('ended', `it has stopped: ${briefly(reason)}`);
  }

  kept(count: number, path: string): void {
    this.#say(
      `${count} entries did not arrive. They are kept in ${path}, and sent by the next initTrackers with this tracker and projectDir.`,
    );
  }

  lost(count: number): void {
    this.#say(`${count} entries are lost.`);
  }

  waiting(count: number): void {
    this.#once('waiting', `${count} entries are still to be sent; waiting. Ctrl-C keeps them on disk.`);
  }

  #once(kind: string, message: string): void {
    if (this.#said.has(kind)) return;
    this.#said.add(kind);
    this.#say(message);
  }

  #say(message: string): void {
    this.#warn(`acc: tracker ${this.#name}: ${message}`);
  }
}
