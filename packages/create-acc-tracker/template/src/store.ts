import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Stores a run, here in a file of JSON lines. Replace it with your service. */
export class Store {
  readonly #file: number;

  constructor(folder: string, runId: string) {
    mkdirSync(folder, { recursive: true });
    this.#file = openSync(storePath(folder, runId), 'a');
  }

  add(line: object): void {
    writeSync(this.#file, `${JSON.stringify(line)}\n`);
  }

  addMetrics(
    rows: readonly { step: number; timeMs: number; metrics: Readonly<Record<string, number>> }[],
  ): void {
    for (const { step, timeMs, metrics } of rows) {
      const values = Object.entries(metrics).map(([name, value]) => [name, toJson(value)]);
      this.add({ kind: 'metrics', step, timeMs, metrics: Object.fromEntries(values) });
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}

export function storePath(folder: string, runId: string): string {
  return join(folder, `my-service-${runId}.jsonl`);
}

/** JSON has no NaN and no infinities, so they become strings. */
function toJson(value: number): number | string {
  return Number.isFinite(value) ? value : String(value);
}
