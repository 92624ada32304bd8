import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { create, toBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { EventSchema, SessionLog_SessionStatus } from './generated/tensorboard_pb.js';
import { maskedCrc32c } from './masked-crc32c.js';
import type { SummaryValue } from './summaries.js';

/** The number of files that this process has opened. It keeps names unique within one second. */
let opened = 0;

/** An event file in TensorBoard's format: TFRecords of `tensorflow.Event`. */
export class EventFile {
  readonly path: string;
  readonly #file: number;
  #records: Uint8Array[] = [];
  #hasStep = false;
  /** Whether the file holds the record that {@link #markStart} adds. */
  #holdsStart = false;

  constructor(folder: string) {
    mkdirSync(folder, { recursive: true });
    const nowMs = Date.now();
    // TensorBoard reads files in the order of their names, and only files whose names contain
    // "tfevents".
    const seconds = String(Math.floor(nowMs / 1000)).padStart(10, '0');
    this.path = join(folder, `events.out.tfevents.${seconds}.${hostname()}.${process.pid}.${opened++}`);
    this.#file = openSync(this.path, 'ax');
    this.#add({ wallTime: nowMs / 1000, what: { case: 'fileVersion', value: 'brain.Event:2' } });
    try {
      this.flush();
    } catch (error) {
      closeSync(this.#file);
      rmSync(this.path);
      throw error;
    }
  }

  add(step: number, timeMs: number, values: SummaryValue[]): void {
    this.#markStart(step, timeMs);
    this.addAside(step, timeMs, values);
  }

  /** Adds values of the run as a whole. They do not mark the start of new data. */
  addAside(step: number, timeMs: number, values: SummaryValue[]): void {
    this.#add({ ...at(step, timeMs), what: { case: 'summary', value: { value: values } } });
  }

  flush(): void {
    const bytes = Buffer.concat(this.#records.splice(0));
    const before = fstatSync(this.#file).size;
    try {
      for (let done = 0; done < bytes.length;) done += writeSync(this.#file, bytes, done);
    } catch (error) {
      // A reader stops at an incomplete record. The same records are added again.
      ftruncateSync(this.#file, before);
      this.#hasStep = this.#holdsStart;
      throw error;
    }
    this.#holdsStart = this.#hasStep;
  }

  close(): void {
    this.flush();
    closeSync(this.#file);
  }

  /**
   * Marks that this file replaces the data of earlier files of the run from this step on:
   * `SessionLog.START`.
   */
  #markStart(step: number, timeMs: number): void {
    if (this.#hasStep) return;
    this.#hasStep = true;
    const value = { status: SessionLog_SessionStatus.START };
    this.#add({ ...at(step, timeMs), what: { case: 'sessionLog', value } });
  }

  #add(event: MessageInitShape<typeof EventSchema>): void {
    const data = toBinary(EventSchema, create(EventSchema, event));
    const head = Buffer.alloc(12);
    head.writeBigUInt64LE(BigInt(data.length), 0);
    head.writeUInt32LE(maskedCrc32c(head.subarray(0, 8)), 8);
    const tail = Buffer.alloc(4);
    tail.writeUInt32LE(maskedCrc32c(data), 0);
    this.#records.push(head, data, tail);
  }
}

const at = (step: number, timeMs: number) => ({ step: BigInt(step), wallTime: timeMs / 1000 });
