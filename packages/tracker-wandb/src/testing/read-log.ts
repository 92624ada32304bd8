import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const BLOCK = 32 * 1024;
const HEADER = 7;
const HISTORY = 2;

/**
 * The history rows in a run's folders, oldest first. Of W&B's own fields only the step is included.
 */
export function rowsUnder(runDir: string): Record<string, unknown>[] {
  const folder = join(runDir, 'wandb');
  const dirs = readdirSync(folder).sort();
  const paths = dirs.flatMap((dir) => readdirSync(join(folder, dir)).map((name) => join(folder, dir, name)));
  return paths.filter((path) => path.endsWith('.wandb')).flatMap((path) => rowsOf(readFileSync(path)));
}

function rowsOf(data: Buffer): Record<string, unknown>[] {
  return recordsOf(data).flatMap((record) => fieldsOf(record).get(HISTORY)?.map(rowOf) ?? []);
}

function rowOf(history: Buffer): Record<string, unknown> {
  const items = fieldsOf(history)
    .get(1)!
    .map((item) => {
      const fields = fieldsOf(item);
      return [String(fields.get(2)![0]), JSON.parse(String(fields.get(16)![0])) as unknown];
    });
  const { _runtime, _timestamp, ...values } = Object.fromEntries(items) as Record<string, unknown>;
  return values;
}

/** Reads records of LevelDB's log format. It does not verify checksums; W&B's own readers do. */
function recordsOf(data: Buffer): Buffer[] {
  const found: Buffer[] = [];
  let parts: Buffer[] = [];
  for (let at = HEADER; at + HEADER <= data.length;) {
    const room = BLOCK - (at % BLOCK);
    if (room < HEADER) at += room;
    const end = at + HEADER + data.readUInt16LE(at + 4);
    parts.push(data.subarray(at + HEADER, end));
    const isLast = data[at + 6] === 1 || data[at + 6] === 4;
    if (isLast) found.push(Buffer.concat(parts));
    if (isLast) parts = [];
    at = end;
  }
  return found;
}

/** The length-delimited fields of a protocol buffer message. */
function fieldsOf(message: Buffer): Map<number, Buffer[]> {
  const found = new Map<number, Buffer[]>();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++]!;
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const field = tag >> 3;
    const length = varint();
    if ((tag & 7) === 0) continue;
    found.set(field, [...(found.get(field) ?? []), message.subarray(at, at + length)]);
    at += length;
  }
  return found;
}
