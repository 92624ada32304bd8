import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pythonText } from './summary.js';

/** Rows of one metric. */
export type Points = readonly (readonly [step: number, value: number])[];

/** Files with one metric each: `val/loss.tsv` has the columns `step` and `loss`. */
export class TsvFiles {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /**
   * Appends rows to the files of several metrics, and calls `then`. If any of it fails, for example
   * because the disk is full, all files are as before.
   */
  append(points: ReadonlyMap<string, Points>, then: () => void): void {
    const sizes = new Map<string, number | undefined>();
    try {
      for (const [name, rows] of points) {
        const path = join(this.#dir, `${name}.tsv`);
        const size = existsSync(path) ? statSync(path).size : undefined;
        sizes.set(path, size);
        mkdirSync(dirname(path), { recursive: true });
        appendFileSync(path, (size === undefined ? headerOf(name) : '') + rows.map(lineOf).join(''));
      }
      then();
    } catch (error) {
      for (const [path, size] of sizes) {
        if (size === undefined) rmSync(path, { force: true });
        else truncateSync(path, size);
      }
      throw error;
    }
  }

  /** Removes lines that a killed process wrote in part. */
  mend(): void {
    if (!existsSync(this.#dir)) return;
    for (const name of readdirSync(this.#dir, { recursive: true, encoding: 'utf8' })) {
      const path = join(this.#dir, name);
      if (!name.endsWith('.tsv') || !statSync(path).isFile()) continue;
      const whole = readFileSync(path).lastIndexOf('\n') + 1;
      if (whole === 0) rmSync(path);
      else truncateSync(path, whole);
    }
  }
}

/** A metric named `step` would have the name of the first column. */
function headerOf(name: string): string {
  const last = basename(name);
  const cell = last === 'step' ? 'value' : last;
  return `step\t${/["\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell}\n`;
}

function lineOf([step, value]: Points[number]): string {
  return `${step}\t${pythonText(value)}\n`;
}
