import { closeSync, openSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';

const BLOCK = 32 * 1024;
const CHUNK_HEADER = 7;
/** ":W&B", a magic number, version 0. */
const FILE_HEADER = Uint8Array.of(0x3a, 0x57, 0x26, 0x42, 0xe1, 0xbe, 0);
const FULL = 1;
const FIRST = 2;
const MIDDLE = 3;
const LAST = 4;

/** A file of records as W&B writes it: LevelDB's log format, with a header and the checksum of zlib. */
export class LogFile {
  readonly #file: number;
  /** Within the block. */
  #offset = FILE_HEADER.length;

  constructor(readonly path: string) {
    this.#file = openSync(path, 'wx');
    this.#write(FILE_HEADER);
  }

  /** Records, written to the file when it returns. */
  add(records: readonly Uint8Array[]): void {
    this.#write(Buffer.concat(records.flatMap((record) => this.#chunksOf(record))));
  }

  close(): void {
    closeSync(this.#file);
  }

  /** A record goes over as many blocks as it needs. */
  #chunksOf(record: Uint8Array): Uint8Array[] {
    const chunks: Uint8Array[] = [];
    let from = 0;
    do {
      let room = BLOCK - this.#offset - CHUNK_HEADER;
      if (room < 0) {
        chunks.push(new Uint8Array(BLOCK - this.#offset));
        this.#offset = 0;
        room = BLOCK - CHUNK_HEADER;
      }
      const to = Math.min(record.length, from + room);
      const isEnd = to === record.length;
      const type = from === 0 ? (isEnd ? FULL : FIRST) : isEnd ? LAST : MIDDLE;
      chunks.push(chunkHeader(type, record.subarray(from, to)), record.subarray(from, to));
      this.#offset += CHUNK_HEADER + to - from;
      from = to;
    } while (from < record.length);
    return chunks;
  }

  #write(data: Uint8Array): void {
    for (let done = 0; done < data.length;) done += writeSync(this.#file, data, done);
  }
}

function chunkHeader(type: number, data: Uint8Array): Uint8Array {
  const header = Buffer.alloc(CHUNK_HEADER);
  header.writeUInt32LE(crc32(data, crc32(Uint8Array.of(type))), 0);
  header.writeUInt16LE(data.length, 4);
  header[6] = type;
  return header;
}
