import { CALL_WORDS } from '@acc/native';
import { CALL_TABLES, type Words } from '../agreement.js';

/** The calls that are kept for other threads. */
const KEPT = 16;
/** Bytes of the text of a message, and of the last known line. Longer ones are cut. */
const TEXT_BYTES = 96;
const LINE_BYTES = 512;
/** Places in `state`. */
const COUNT = 0;
const LINE = 1;

/**
 * The last calls of this process, in memory that other threads read, also while this thread is blocked. A
 * reader may meet a call that is being written.
 */
export interface SharedCalls {
  /** Uint32: the number of calls so far, modulo 2^32, and the bytes of `line`, 0 while it is written. */
  readonly state: SharedArrayBuffer;
  /** Float64: when a call began, in milliseconds since 1970. Call n is at place n % `kept`. */
  readonly times: SharedArrayBuffer;
  /** Int32: the words of a call; the first one is -1 for a message, which has a text. */
  readonly words: SharedArrayBuffer;
  /** UTF-8, filled with zeros. */
  readonly texts: SharedArrayBuffer;
  /** UTF-8: the line of the program that was last known to make a call. */
  readonly line: SharedArrayBuffer;
  readonly kept: number;
  readonly textBytes: number;
  /** How words are read. */
  readonly tables: typeof CALL_TABLES;
}

class CallWriter {
  readonly memory: SharedCalls = {
    state: new SharedArrayBuffer(8),
    times: new SharedArrayBuffer(8 * KEPT),
    words: new SharedArrayBuffer(4 * CALL_WORDS * KEPT),
    texts: new SharedArrayBuffer(TEXT_BYTES * KEPT),
    line: new SharedArrayBuffer(LINE_BYTES),
    kept: KEPT,
    textBytes: TEXT_BYTES,
    tables: CALL_TABLES,
  };
  readonly #state = new Uint32Array(this.memory.state);
  readonly #times = new Float64Array(this.memory.times);
  readonly #words = new Int32Array(this.memory.words);
  readonly #texts = new Uint8Array(this.memory.texts);
  readonly #line = new Uint8Array(this.memory.line);
  readonly #encoder = new TextEncoder();

  add(call: Words | string, at: number): void {
    const count = this.#state[COUNT]!;
    const place = count % KEPT;
    this.#times[place] = at;
    const from = place * CALL_WORDS;
    if (typeof call === 'string') {
      const text = this.#texts.subarray(place * TEXT_BYTES, (place + 1) * TEXT_BYTES).fill(0);
      this.#write(call, text);
      this.#words[from] = -1;
    } else {
      for (let i = 0; i < CALL_WORDS; i++) this.#words[from + i] = call[i]!;
    }
    Atomics.store(this.#state, COUNT, count + 1);
  }

  setLine(line: string): void {
    Atomics.store(this.#state, LINE, 0);
    Atomics.store(this.#state, LINE, this.#write(line, this.#line));
  }

  /** Platforms do not encode into shared memory. */
  #write(text: string, to: Uint8Array): number {
    const bytes = this.#encoder.encode(text).subarray(0, to.length);
    to.set(bytes);
    return bytes.length;
  }
}

const current: { writer: CallWriter | undefined } = { writer: undefined };

/** Begins to keep calls for other threads. A second caller gets memory of its own, and the first no more calls. */
export function shareCalls(): { readonly memory: SharedCalls; readonly end: () => void } {
  const writer = (current.writer = new CallWriter());
  const end = () => {
    if (current.writer === writer) current.writer = undefined;
  };
  return { memory: writer.memory, end };
}

/** Keeps a call, if a thread reads calls: 20 words and a time are copied. */
export function shareCall(call: Words | string, at: number): void {
  current.writer?.add(call, at);
}

/** Keeps the line that was captured last. */
export function shareLine(line: string): void {
  current.writer?.setLine(line);
}
