import type { ServerResponse } from 'node:http';
import type { RunSet } from '../runs/run-set.js';
import type { Change } from './answers.js';

const REFRESH_MS = 500;
/** Proxies close connections that are silent for longer, and a page may have missed a message. */
const BEAT_MS = 15_000;

/** Tells open pages what changed (server-sent events). Records are read only while there is one. */
export class EventStreams {
  readonly #open = new Set<ServerResponse>();
  #timer: NodeJS.Timeout | undefined;
  #count = 0;
  #lastBeat = 0;

  constructor(private readonly runs: RunSet) {}

  add(response: ServerResponse): void {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.on('error', () => this.#open.delete(response));
    response.on('close', () => this.#open.delete(response));
    this.#open.add(response);
    // A page that was away, or was opened again, compares versions.
    response.write(this.#message());
    this.#timer ??= setTimeout(() => void this.#turn(), REFRESH_MS);
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const response of this.#open) response.end();
    this.#open.clear();
  }

  async #turn(): Promise<void> {
    const isNew = await this.runs.refresh();
    if (isNew || Date.now() - this.#lastBeat > BEAT_MS) this.#send(this.#message());
    this.#timer = this.#open.size > 0 ? setTimeout(() => void this.#turn(), REFRESH_MS) : undefined;
  }

  #send(message: string): void {
    this.#lastBeat = Date.now();
    // A page that does not read, as one of a computer that sleeps, gets the next message.
    for (const response of this.#open) if (!response.writableNeedDrain) response.write(message);
  }

  #message(): string {
    const change: Change = { versions: this.runs.versions, runs: this.runs.size };
    return `id: ${this.#count++}\ndata: ${JSON.stringify(change)}\n\n`;
  }
}
