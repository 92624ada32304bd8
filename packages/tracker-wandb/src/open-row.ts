import { closeSync, existsSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Json } from './records.js';

/** The values logged for a step, to which more may still be added. */
export interface OpenRow {
  readonly step: number;
  readonly timeMs: number;
  readonly values: Json;
}

/** An open row, and the log file that it belongs to. */
export interface KeptRow {
  readonly row: OpenRow;
  /** The name of the log file in the same folder. */
  readonly log: string;
  /** The bytes and records of the log file without this row. */
  readonly logBytes: number;
  readonly logRecords: number;
}

const NAME = 'row.txt';

/** The file that holds the row that is not in the log yet, in case the process is killed. */
export class RowFile {
  readonly #path: string;
  readonly #file: number;

  constructor(dir: string) {
    this.#path = join(dir, NAME);
    this.#file = openSync(this.#path, 'w');
  }

  /**
   * Overwrites the previous row in one write. A longer previous row leaves bytes after the end of
   * the line, which readers ignore. Replacing the file would take a hundred times as long.
   */
  keep(kept: KeptRow): void {
    const json = JSON.stringify(kept);
    const line = Buffer.from(`${sumOf(json)} ${json}\n`);
    for (let done = 0; done < line.length;)
      done += writeSync(this.#file, line, done, line.length - done, done);
  }

  remove(): void {
    closeSync(this.#file);
    rmSync(this.#path);
  }
}

/** The rows that killed processes left in a run's folders. */
export function keptRows(folders: string): { readonly dir: string; readonly kept: KeptRow }[] {
  if (!existsSync(folders)) return [];
  const dirs = readdirSync(folders).map((name) => join(folders, name));
  return dirs.flatMap((dir) => {
    const kept = readRow(join(dir, NAME));
    return kept && existsSync(join(dir, kept.log)) ? [{ dir, kept }] : [];
  });
}

export function dropRow(dir: string): void {
  rmSync(join(dir, NAME));
}

/** Reads a kept row. Undefined if there is none or if it is incomplete, as after a power failure. */
function readRow(path: string): KeptRow | undefined {
  if (!existsSync(path)) return undefined;
  const [line = ''] = readFileSync(path, 'utf8').split('\n', 1);
  const [sum, json] = [line.slice(0, SUM_LENGTH), line.slice(SUM_LENGTH + 1)];
  return sum === sumOf(json) ? (JSON.parse(json) as KeptRow) : undefined;
}

const SUM_LENGTH = 8;
const sumOf = (json: string) => crc32(json).toString(16).padStart(SUM_LENGTH, '0');
