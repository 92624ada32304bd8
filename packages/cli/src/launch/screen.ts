import type { Writable } from 'node:stream';
import { wrapSteps } from '@acc/platform/uncaught';

export type Channel = 'stdout' | 'stderr';

/** An output stream of the launcher: a terminal, a pipe or a file. */
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** The owner of the launcher's own lines. */
const LAUNCHER = -1;
const ESC = '\u001b';
const ERASE_LINE = `\r${ESC}[K`;

/**
 * Writes the lines of all ranks to the launcher's own stdout and stderr. On a terminal the bottom
 * line may be live: it is erased before other lines are written, and drawn again after them.
 */
export class Screen {
  readonly #outputs: Readonly<Record<Channel, Output>>;
  readonly #drains = new Map<Channel, { readonly promise: Promise<void>; readonly release: () => void }>();
  #live: { readonly channel: Channel; readonly text: string } | undefined;
  /** The rank whose last text ended with a carriage return, on an output that is not a terminal. */
  #open: { readonly channel: Channel; readonly owner: number } | undefined;
  /** Whether writing has stopped. */
  #isClosed = false;
  /** Resolves when the reader of an output has gone away. Nothing is written after that. */
  readonly broken: Promise<void>;

  constructor(stdout: Output, stderr: Output) {
    this.#outputs = { stdout, stderr };
    this.broken = new Promise((resolve) => {
      const onError = (): void => {
        this.abandon();
        resolve();
      };
      stdout.on('error', onError);
      stderr.on('error', onError);
    });
  }

  /** Stops writing. Relays that wait for a reader continue. */
  abandon(): void {
    this.#isClosed = true;
    for (const { release } of this.#drains.values()) release();
  }

  isTerminal(channel: Channel): boolean {
    return this.#outputs[channel].isTTY === true;
  }

  /**
   * Writes whole lines. Each ends with a line feed, or with a carriage return if `owner` will
   * rewrite it.
   */
  print(channel: Channel, owner: number, text: string): void {
    if (this.#open && (this.#open.channel !== channel || this.#open.owner !== owner)) {
      this.#write(this.#open.channel, '\n');
    }
    this.#open = text.endsWith('\r') ? { channel, owner } : undefined;
    if (!this.#live || !this.isTerminal(channel)) return this.#write(channel, text);
    const drawing = this.#drawing();
    if (this.#live.channel === channel) return this.#write(channel, ERASE_LINE + text + drawing);
    this.#write(this.#live.channel, ERASE_LINE);
    this.#write(channel, text);
    this.#write(this.#live.channel, drawing);
  }

  /** Writes whole lines of the launcher itself to stderr. */
  say(text: string): void {
    if (text) this.print('stderr', LAUNCHER, wrapSteps(text, this.#outputs.stderr));
  }

  /** Shows `text` on the bottom line of the terminal. '' clears this channel's text there. */
  showLive(channel: Channel, text: string): void {
    if (text === '' && this.#live?.channel !== channel) return;
    if (this.#live?.channel === channel && this.#live.text === text) return;
    this.#live = text === '' ? undefined : { channel, text };
    this.#write(channel, this.#live ? this.#drawing() : ERASE_LINE);
  }

  /** Resolves when the channel accepts more output. A relay that waits for it stops reading. */
  async ready(channel: Channel): Promise<void> {
    await this.#drains.get(channel)?.promise;
  }

  #drawing(): string {
    if (!this.#live) return '';
    const { columns = 80 } = this.#outputs[this.#live.channel];
    return ERASE_LINE + truncateToWidth(this.#live.text, columns - 1);
  }

  #write(channel: Channel, text: string): void {
    const output = this.#outputs[channel];
    if (this.#isClosed || output.write(text) || this.#drains.has(channel)) return;
    let release!: () => void;
    const promise = new Promise<void>((resolve) => {
      release = () => {
        this.#drains.delete(channel);
        resolve();
      };
    });
    this.#drains.set(channel, { promise, release });
    output.once('drain', release);
  }
}

/**
 * The first `width` visible characters. Escape sequences have no width. A cut line ends with a
 * reset of its colours.
 */
export function truncateToWidth(text: string, width: number): string {
  let kept = '';
  let shown = 0;
  for (const [token] of text.matchAll(new RegExp(`${ESC}\\[[0-9;?]*[ -/]*[@-~]|.`, 'gsu'))) {
    if (!token.startsWith(ESC) && ++shown > width) return `${kept}${ESC}[0m`;
    kept += token;
  }
  return kept;
}
