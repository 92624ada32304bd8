import { basename, join } from 'node:path';
import { isRecord } from '@acc/contract';
import type { LoggedAlert, LoggedImage, LoggedTable } from '../server/answers.js';
import { GrowingFile } from './growing-file.js';

/** More of them are left out, the oldest first. */
const MOST_ALERTS = 100;
/** Of one name. */
const MOST_IMAGES = 200;
const MOST_ROWS = 200;
const MARKS = ['"alerts/', '"_image"', '"_table"'];

/** Reads what the tracker `jsonl` has written to the folder of a run: alerts, images, tables. */
export class RunLog {
  /** Where images are. */
  readonly imageFolder: string;
  readonly #file: GrowingFile;
  readonly #decoder = new TextDecoder();
  readonly #images = new Map<string, LoggedImage[]>();
  readonly #tables = new Map<string, LoggedTable>();
  #rest = '';
  #alerts: LoggedAlert[] = [];
  #hasFile = false;
  #count = 0;

  constructor(runFolder: string) {
    this.#file = new GrowingFile(join(runFolder, 'metrics.jsonl'));
    this.imageFolder = join(runFolder, 'images');
  }

  get alerts(): readonly LoggedAlert[] {
    return this.#alerts;
  }

  /** Images of one name follow each other, in the order of their steps. */
  get images(): readonly LoggedImage[] {
    return [...this.#images.values()].flat();
  }

  /** The last one of each name. */
  get tables(): readonly LoggedTable[] {
    return [...this.#tables.values()];
  }

  /** Whether the run writes that file. */
  get hasFile(): boolean {
    return this.#hasFile;
  }

  async wasReplaced(): Promise<boolean> {
    return this.#file.wasReplaced();
  }

  /** @returns Whether there is something new. */
  async read(): Promise<boolean> {
    const before = this.#count;
    for await (const part of this.#file.appended()) {
      this.#hasFile = true;
      const lines = (this.#rest + this.#decoder.decode(part, { stream: true })).split('\n');
      this.#rest = lines.pop()!;
      for (const line of lines) if (MARKS.some((mark) => line.includes(mark))) this.#take(line);
    }
    this.#alerts = this.#alerts.slice(-MOST_ALERTS);
    return this.#count > before;
  }

  #take(line: string): void {
    const entry = parsed(line);
    const step = Number(entry?._step);
    if (!entry || !Number.isFinite(step)) return;
    for (const [key, text] of entriesOf(entry._text))
      if (key.startsWith('alerts/'))
        this.#alerts.push({ kind: key.slice('alerts/'.length), text: String(text), step });
    for (const [key, image] of entriesOf(entry._image)) this.#takeImage(key, image, step);
    for (const [key, table] of entriesOf(entry._table)) this.#takeTable(key, table, step);
    this.#count++;
  }

  #takeImage(key: string, image: unknown, step: number): void {
    if (!isRecord(image) || typeof image.path !== 'string') return;
    const { path, width, height } = image;
    const all = this.#images.get(key) ?? [];
    all.push({ key, step, file: basename(path), width: Number(width), height: Number(height) });
    this.#images.set(key, all.slice(-MOST_IMAGES));
  }

  #takeTable(key: string, table: unknown, step: number): void {
    if (!isRecord(table) || !Array.isArray(table.columns) || !Array.isArray(table.rows)) return;
    const columns = table.columns.map(String);
    const rows = table.rows.filter((row): row is unknown[] => Array.isArray(row));
    const shown = rows.slice(0, MOST_ROWS).map((row) => row.map(cellText));
    this.#tables.set(key, { key, step, columns, rows: shown, rowCount: rows.length });
  }
}

const cellText = (value: unknown): string =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);

/** Undefined if a killed process has left the line unfinished. */
function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const entriesOf = (value: unknown): [string, unknown][] => (isRecord(value) ? Object.entries(value) : []);
