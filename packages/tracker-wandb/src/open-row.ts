import { closeSync, existsSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Json } from './records.js';

/** What was logged for a step that may still grow. */
export interface OpenRow {
  readonly step: number;
  readonly timeMs: number;
  readonly values: Json;
}

/** Such a row, and the log that it is to be added to. */
export interface KeptRow {
  readonly row: OpenRow;
  /** The log's name beside it. */
  readonly log: string;
  /** Bytes and records of the log without it. */
  readonly logBytes: number;
  readonly logRecords: number;
}

const NAME = 'row.txt';

/** Where a row lies that is not in the log yet, for the case that the process is killed. */
export class RowFile {
  readonly #path: string;
  readonly #file: number;

  constructor(dir: string) {
    this.#path = join(dir, NAME);
    this.#file = openSync(this.#path, 'w');
  }

  /** In one write over the row before, of which what is longer stays behind the line: replacing the file takes a hundred times as long. */
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

/** What killed processes have kept in a run's folders. */
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

/** Undefined also for half a row, as a machine that lost its power may leave it. */
function readRow(path: string): KeptRow | undefined {
  if (!existsSync(path)) return undefined;
  const [line = ''] = readFileSync(path, 'utf8').split('\n', 1);
  const [sum, json] = [line.slice(0, SUM_LENGTH), line.slice(SUM_LENGTH + 1)];
  return sum === sumOf(json) ? (JSON.parse(json) as KeptRow) : undefined;
}

const SUM_LENGTH = 8;
const sumOf = (json: string) => crc32(json).toString(16).padStart(SUM_LENGTH, '0');
