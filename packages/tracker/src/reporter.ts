import { briefly } from './errors.js';

/**
 * The messages about one tracker. Each kind of message appears once, and again only after the
 * problem was solved.
 */
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
    this.#say(`${briefly(error)} Logged data is kept, and sent when the tracker answers again.`);
  }

  back(): void {
    if (this.#isDown) this.#say('it answers again.');
    this.#isDown = false;
  }

  refused(error: unknown): void {
    this.#once(
      'refused',
      `it refused an entry: ${briefly(error)} Training continues. The number of lost entries is reported at the end.`,
    );
  }

  slow(ms: number): void {
    this.#once('slow', `a call delayed training by ${ms.toFixed(0)} ms. Let it return a promise.`);
  }

  disk(error: Error): void {
    this.#once('disk', `entries can no longer be kept on disk: ${briefly(error)}`);
  }

  /** @param reason The error after which the tracker receives nothing more. */
  ended(reason: unknown): void {
    this.#once('ended', `it has stopped: ${briefly(reason)}`);
  }

  kept(count: number, path: string): void {
    this.#say(
      `${count} entries were not sent. They are kept in ${path}. The next initTrackers with this tracker and projectDir sends them.`,
    );
  }

  lost(count: number): void {
    this.#say(count === 1 ? '1 entry is lost.' : `${count} entries are lost.`);
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
