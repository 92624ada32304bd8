import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { LineReader, type OutputEvent } from './line-reader.js';
import type { Channel, Screen } from './screen.js';

export interface RelayOptions {
  readonly screen: Screen;
  readonly channel: Channel;
  readonly rank: number;
  /** Whether its unfinished line may be shown. */
  readonly isForeground: boolean;
  /** Put before each line. */
  readonly prefix: string;
  /** Lines to remember for the summary. */
  readonly tailLines: number;
}

/** How long a pipe must be silent, after its rank has gone, to be given up: something else holds it open. */
const SILENCE_MS = 250;

/** Carries one output stream of a rank to the screen, line by line, no faster than the screen takes it. */
export class Relay {
  /** Resolves when all has been passed on. */
  readonly ended: Promise<void>;
  readonly #source: Readable;
  readonly #options: RelayOptions;
  readonly #reader = new LineReader();
  #tail: string[] = [];
  #chunks = 0;
  #isWaiting = false;
  #isEnded = false;

  constructor(source: Readable, options: RelayOptions) {
    this.#source = source;
    this.#options = options;
    this.ended = this.#run();
  }

  /** The last lines that came through. */
  get tail(): readonly string[] {
    return this.#tail;
  }

  /** For after the rank's end: waits for what is still in the pipe, but not for others that hold it open. */
  async finish(): Promise<void> {
    while (!this.#isEnded) {
      const before = this.#chunks;
      await Promise.race([this.ended, sleep(SILENCE_MS, undefined, { ref: false })]);
      if (this.#chunks === before && !this.#isWaiting) this.#source.destroy();
    }
  }

  async #run(): Promise<void> {
    try {
      for await (const chunk of this.#source as AsyncIterable<Buffer>) {
        this.#chunks++;
        await this.#pass(this.#reader.push(chunk));
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
    }
    await this.#pass(this.#reader.end());
    this.#isEnded = true;
  }

  /**
   * The foreground rank's line that is still being written is shown live on a terminal, and rewritten in place
   * elsewhere, as a plain program's would be. Of the other ranks only whole lines appear: there is one bottom line.
   */
  async #pass(events: readonly OutputEvent[]): Promise<void> {
    const { screen, channel, rank, isForeground, prefix, tailLines } = this.#options;
    const isLive = isForeground && screen.isTerminal(channel);
    let text = '';
    for (const event of events) {
      if (event.kind === 'line') text += `${prefix}${event.text}\n`;
      else if (isForeground && !isLive) text += `${prefix}${event.text}\r`;
    }
    const lines = events.filter(({ kind }) => kind === 'line').map((event) => event.text);
    this.#tail = [...this.#tail, ...lines].slice(-tailLines);
    const { unfinished } = this.#reader;
    // Cleared first, so that a line just finished isn't drawn a second time below itself.
    if (isLive && text) screen.showLive(channel, '');
    if (text) screen.print(channel, rank, text);
    if (isLive) screen.showLive(channel, unfinished && prefix + unfinished);
    this.#isWaiting = true;
    await screen.ready(channel);
    this.#isWaiting = false;
  }
}
