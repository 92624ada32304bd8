import { badFormat, type SamplePlace } from '../errors.js';
import { FramingReader } from '../sources/framing-reader.js';
import type { OnScan } from '../sources/read-forward.js';
import type { Source } from '../sources/source.js';
import { maskedCrc32c } from './crc32c.js';

/** A record: its length (uint64), the checksum of the length (uint32), the data, and its checksum (uint32). */
const LENGTH_BYTES = 8;
const HEADER_BYTES = 12;
const FOOTER_BYTES = 4;

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/** Where the records of a file start, and the end of the file. Checks the lengths. */
export async function scanRecords(source: Source, onScan: OnScan): Promise<number[]> {
  const reader = new FramingReader(source, onScan);
  const { name: file, bytes: total } = source;
  const starts: number[] = [];
  let at = 0;
  while (at < total) {
    const place = { file, row: starts.length, unit: 'record' };
    const header = reader.loaded(at, HEADER_BYTES) ?? (await reader.bytes(at, HEADER_BYTES));
    if (!header) throw cutOff(place, at + HEADER_BYTES, total);
    const length = lengthOf(header, place);
    starts.push(at);
    at += HEADER_BYTES + length + FOOTER_BYTES;
    if (at > total) throw cutOff(place, at, total);
  }
  starts.push(total);
  return starts;
}

/** The data of a record. */
export function recordData(record: Uint8Array, place: SamplePlace, checks: boolean): Uint8Array {
  const end = HEADER_BYTES + lengthOf(record.subarray(0, HEADER_BYTES), place);
  if (end + FOOTER_BYTES !== record.length) throw badFormat(place, 'its length is not that of the index');
  const data = record.subarray(HEADER_BYTES, end);
  if (!checks || viewOf(record).getUint32(end, true) === maskedCrc32c(data)) return data;
  throw badFormat(place, 'the checksum (CRC-32C) of its data is wrong', { help: DAMAGED });
}

const DAMAGED = 'The file is damaged. Copy it again from where it came.';
const GZIP = [0x1f, 0x8b];

function lengthOf(header: Uint8Array, place: SamplePlace): number {
  const view = viewOf(header);
  if (view.getUint32(LENGTH_BYTES, true) === maskedCrc32c(header.subarray(0, LENGTH_BYTES))) {
    return Number(view.getBigUint64(0, true));
  }
  if (place.row > 0)
    throw badFormat(place, 'the checksum (CRC-32C) of its length is wrong', { help: DAMAGED });
  if (GZIP.every((byte, i) => header[i] === byte)) {
    throw badFormat(place.file, 'it is compressed with gzip, so its records have no places', {
      help: 'Decompress it first: gunzip FILE.',
    });
  }
  throw badFormat(place.file, 'it is not a TFRecord file, or it is compressed', {
    help: "Files that TensorFlow's TFRecordWriter writes without compression can be read.",
  });
}

function cutOff(place: SamplePlace, needed: number, total: number) {
  return badFormat(place, `it is cut off: it ends at byte ${needed}, and the file at byte ${total}`, {
    help: DAMAGED,
  });
}
