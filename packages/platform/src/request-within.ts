/** How long a server may take, and how much it may send. */
export interface RequestLimits {
  /** The longest time without an answer, or in which less than `minBytesPerSecond` arrive. */
  readonly timeoutMs: number;
  readonly minBytesPerSecond: number;
  /** The largest body. */
  readonly maxBytes: number;
  /** The bytes that are sent before the server can answer. */
  readonly sentBytes?: number | undefined;
}

export const REQUEST_TIMEOUT_MS = 30_000;
export const MIN_BYTES_PER_SECOND = 1024;

export interface FullAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Empty if the body was not wanted. */
  readonly bytes: Uint8Array;
}

/** A server that was too slow, in contrast to one that cannot be reached. */
export class SlowServerError extends Error {}

/** A body that is larger than what was asked for. */
export class LargeBodyError extends Error {}

/**
 * Sends a request, and reads its answer. A server that says nothing, drips or sends without end is
 * not waited for.
 *
 * @param isWanted Whether the body is read. Others are dropped, with their connection.
 * @throws SlowServerError, LargeBodyError, or the error of `send`.
 */
export async function requestWithin(
  send: (signal: AbortSignal) => Promise<Response>,
  limits: RequestLimits,
  isWanted: (status: number) => boolean = () => true,
): Promise<FullAnswer> {
  const watch = new Watch(limits);
  try {
    const response = await watch.unlessLate(send(watch.signal));
    const { status, headers } = response;
    if (!isWanted(status) || !response.body) return { status, headers, bytes: new Uint8Array(0) };
    return { status, headers, bytes: await bodyOf(response.body, limits.maxBytes, watch) };
  } finally {
    // What is left of a body is not waited for.
    watch.end();
  }
}

async function bodyOf(body: ReadableStream<Uint8Array>, maxBytes: number, watch: Watch): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  const reader = body.getReader();
  let length = 0;
  for (;;) {
    const { done, value } = await watch.unlessLate(reader.read());
    if (done) break;
    length += value.length;
    if (length > maxBytes) {
      throw new LargeBodyError(`it sends more than the ${maxBytes} bytes that were asked for`);
    }
    watch.received(value.length);
    pieces.push(value);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/**
 * The looks in `timeoutMs`. A program that computes without a pause for longer is woken for one look
 * only, and then reads what has arrived meanwhile.
 */
const LOOKS = 10;

/** Ends a request when too little arrives in `timeoutMs`. */
class Watch {
  readonly #abort = new AbortController();
  readonly #late: Promise<never>;
  readonly #limits: RequestLimits;
  #fail!: (reason: SlowServerError) => void;
  readonly #timer: ReturnType<typeof setInterval>;
  #received = 0;
  #looks = 0;
  #isAnswered = false;

  constructor(limits: RequestLimits) {
    this.#limits = limits;
    this.#late = new Promise((_, reject) => (this.#fail = reject));
    // It is nobody's error if the request has ended.
    this.#late.catch(() => {});
    this.#timer = setInterval(() => this.#look(), limits.timeoutMs / LOOKS);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  received(bytes: number): void {
    this.#isAnswered = true;
    this.#received += bytes;
  }

  unlessLate<T>(work: Promise<T>): Promise<T> {
    work.catch(() => {});
    return Promise.race([work, this.#late]);
  }

  end(): void {
    clearInterval(this.#timer);
    this.#abort.abort();
  }

  #look(): void {
    const { timeoutMs, minBytesPerSecond, sentBytes = 0 } = this.#limits;
    this.#looks++;
    const least = Math.ceil((timeoutMs / 1000) * minBytesPerSecond);
    const sendingMs = this.#isAnswered ? 0 : (1000 * sentBytes) / minBytesPerSecond;
    if (this.#looks < LOOKS * (1 + sendingMs / timeoutMs)) return;
    if (this.#received > 0 && this.#received >= least) {
      this.#received = 0;
      this.#looks = 0;
      return;
    }
    const what = `it sent ${this.#received} bytes in ${timeoutMs} ms, and at least ${least} were expected`;
    this.#fail(new SlowServerError(this.#received > 0 ? what : `it sent nothing for ${timeoutMs} ms`));
  }
}
