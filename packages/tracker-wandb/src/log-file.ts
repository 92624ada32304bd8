import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';

const BLOCK = 32 * 1024;
const CHUNK_HEADER = 7;
/** ":W&B", a magic number, version 0. */
const FILE_HEADER = Uint8Array.of(0x3a, 0x57, 0x26, 0x42, 0xe1, 0xbe, 0);
const FULL = 1;
const FIRST = 2;
const MIDDLE = 3;
const LAST = 4;

/**
 * A file of records in W&B's format: LevelDB's log format, with a header and CRC-32 checksums as in
 * zlib.
 */
export class LogFile {
  readonly #file: number;
  #bytes: number;

  private constructor(file: number, bytes: number) {
    this.#file = file;
    this.#bytes = bytes;
  }

  static create(path: string): LogFile {
    const log = new LogFile(openSync(path, 'wx'), 0);
    log.#write(FILE_HEADER);
    return log;
  }

  /** Continues an existing file after its first `bytes` bytes. */
  static goOn(path: string, bytes: number): LogFile {
    const file = openSync(path, 'r+');
    ftruncateSync(file, bytes);
    return new LogFile(file, bytes);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Adds records. They are in the file when the call returns. */
  add(records: readonly Uint8Array[]): void {
    this.#write(Buffer.concat(chunksOf(records, this.#bytes)));
  }

  close(): void {
    closeSync(this.#file);
  }

  #write(data: Uint8Array): void {
    try {
      for (let done = 0; done < data.length;) {
        done += writeSync(this.#file, data, done, data.length - done, this.#bytes + done);
      }
    } catch (error) {
      ftruncateSync(this.#file, this.#bytes);
      throw error;
    }
    this.#bytes += data.length;
  }
}

/**
 * Splits records into chunks, starting at byte `start` of the file. A record may span several
 * blocks.
 */
function chunksOf(records: readonly Uint8Array[], start: number): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let offset = start % BLOCK;
  for (const record of records) {
    let from = 0;
    do {
      let room = BLOCK - offset - CHUNK_HEADER;
      if (room < 0) {
        chunks.push(new Uint8Array(BLOCK - offset));
        offset = 0;
        room = BLOCK - CHUNK_HEADER;
      }
      const to = Math.min(record.length, from + room);
      const isEnd = to === record.length;
      const type = from === 0 ? (isEnd ? FULL : FIRST) : isEnd ? LAST : MIDDLE;
      chunks.push(chunkHeader(type, record.subarray(from, to)), record.subarray(from, to));
      offset += CHUNK_HEADER + to - from;
      from = to;
    } while (from < record.length);
  }
  return chunks;
}

function chunkHeader(type: number, data: Uint8Array): Uint8Array {
  const header = Buffer.alloc(CHUNK_HEADER);
  header.writeUInt32LE(crc32(data, crc32(Uint8Array.of(type))), 0);
  header.writeUInt16LE(data.length, 4);
  header[6] = type;
  return header;
}
