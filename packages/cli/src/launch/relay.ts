import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogFile } from './log-file.js';
import { LineReader, type OutputEvent } from './line-reader.js';
import type { Channel, Screen } from './screen.js';

export interface RelayOptions {
  readonly screen: Screen;
  readonly channel: Channel;
  readonly rank: number;
  /** Whether an unfinished line may be shown. */
  readonly isForeground: boolean;
  /** Whether lines are shown on the screen. */
  readonly isShown: boolean;
  /** The text before each line. */
  readonly prefix: string;
  /** The number of lines to keep for the summary. */
  readonly tailLines: number;
  /** Receives everything as it came. */
  readonly log: LogFile | undefined;
}

/**
 * If a pipe is silent for this long after its rank has ended, another process holds it open and it
 * is abandoned. In milliseconds.
 */
const SILENCE_MS = 250;

/**
 * Forwards one output stream of a rank to the screen, line by line, no faster than the screen
 * accepts it.
 */
export class Relay {
  /** Resolves when everything has been forwarded. */
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

  /** The last forwarded lines. */
  get tail(): readonly string[] {
    return this.#tail;
  }

  /**
   * Called after the rank's end. Waits for the rest of the pipe, but not for other processes that
   * hold it open.
   */
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
        this.#options.log?.write(chunk);
        await this.#pass(this.#reader.push(chunk));
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
    }
    await this.#pass(this.#reader.end());
    this.#options.log?.close();
    this.#isEnded = true;
  }

  /** Keeps the last lines for the summary, and shows lines. */
  async #pass(events: readonly OutputEvent[]): Promise<void> {
    const { tailLines, isShown } = this.#options;
    const lines = events.filter(({ kind }) => kind === 'line').map((event) => event.text);
    this.#tail = [...this.#tail, ...lines].slice(-tailLines);
    if (isShown) await this.#show(events);
  }

  /**
   * Shows lines. The unfinished line of the foreground rank is shown live on a terminal. In
   * other outputs it is rewritten with a carriage return, as the program itself would do. Other
   * ranks show whole lines only, because there is only one bottom line.
   */
  async #show(events: readonly OutputEvent[]): Promise<void> {
    const { screen, channel, rank, isForeground, prefix } = this.#options;
    const isLive = isForeground && screen.isTerminal(channel);
    let text = '';
    for (const event of events) {
      if (event.kind === 'line') text += `${prefix}${event.text}\n`;
      else if (isForeground && !isLive) text += `${prefix}${event.text}\r`;
    }
    const { unfinished } = this.#reader;
    // Clears the live line first. Otherwise a line that was just finished would appear twice.
    if (isLive && text) screen.showLive(channel, '');
    if (text) screen.print(channel, rank, text);
    if (isLive) screen.showLive(channel, unfinished && prefix + unfinished);
    this.#isWaiting = true;
    await screen.ready(channel);
    this.#isWaiting = false;
  }
}
