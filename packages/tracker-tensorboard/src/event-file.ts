import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { maskedCrc32c } from './crc32c.js';
import { Proto } from './proto.js';

/** Of files that one process opens in the same second. */
let opened = 0;

/** A file of events as TensorBoard reads it: TFRecords of `tensorflow.Event`. */
export class EventFile {
  readonly path: string;
  readonly #file: number;
  #records: Uint8Array[] = [];
  #hasStep = false;

  constructor(folder: string) {
    mkdirSync(folder, { recursive: true });
    const nowMs = Date.now();
    // Readers take files in the order of their names, and those that hold "tfevents".
    const seconds = String(Math.floor(nowMs / 1000)).padStart(10, '0');
    this.path = join(folder, `events.out.tfevents.${seconds}.${hostname()}.${process.pid}.${opened++}`);
    this.#file = openSync(this.path, 'ax');
    this.#add(new Proto().double(1, nowMs / 1000).bytes(3, 'brain.Event:2'));
    this.flush();
  }

  /** @param values Of `tensorflow.Summary.Value`. */
  add(step: number, timeMs: number, values: readonly Proto[]): void {
    this.#markStart(step, timeMs);
    this.addAside(step, timeMs, values);
  }

  /** What belongs to the run as a whole: it doesn't begin anything anew. */
  addAside(step: number, timeMs: number, values: readonly Proto[]): void {
    const summary = new Proto();
    for (const value of values) summary.bytes(1, value);
    this.#add(
      new Proto()
        .double(1, timeMs / 1000)
        .varint(2, step)
        .bytes(5, summary),
    );
  }

  flush(): void {
    const bytes = Buffer.concat(this.#records.splice(0));
    for (let done = 0; done < bytes.length;) done += writeSync(this.#file, bytes, done);
  }

  close(): void {
    this.flush();
    closeSync(this.#file);
  }

  /** Tells readers of several files of a run that what these hold from this step on was begun anew: `SessionLog.START`. */
  #markStart(step: number, timeMs: number): void {
    if (this.#hasStep) return;
    this.#hasStep = true;
    this.#add(
      new Proto()
        .double(1, timeMs / 1000)
        .varint(2, step)
        .bytes(7, new Proto().varint(1, 1)),
    );
  }

  #add(event: Proto): void {
    const data = event.done();
    const head = Buffer.alloc(12);
    head.writeBigUInt64LE(BigInt(data.length), 0);
    head.writeUInt32LE(maskedCrc32c(head.subarray(0, 8)), 8);
    const tail = Buffer.alloc(4);
    tail.writeUInt32LE(maskedCrc32c(data), 0);
    this.#records.push(head, data, tail);
  }
}
