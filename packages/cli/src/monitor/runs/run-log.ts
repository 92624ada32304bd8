import { join } from 'node:path';
import { GrowingFile } from './growing-file.js';

/** An alert of `autoLog`. */
export interface LoggedAlert {
  readonly kind: string;
  readonly text: string;
  readonly step: number;
}

/** More of them are left out, the oldest first. */
const MOST_ALERTS = 100;
const MARK = '"alerts/';

/** Reads the alerts that the tracker `jsonl` has written to the folder of a run. */
export class AlertLog {
  readonly #file: GrowingFile;
  readonly #decoder = new TextDecoder();
  #rest = '';
  #alerts: LoggedAlert[] = [];
  #hasFile = false;

  constructor(runFolder: string) {
    this.#file = new GrowingFile(join(runFolder, 'metrics.jsonl'));
  }

  get alerts(): readonly LoggedAlert[] {
    return this.#alerts;
  }

  /** Whether the run writes that file. */
  get hasFile(): boolean {
    return this.#hasFile;
  }

  async wasReplaced(): Promise<boolean> {
    return this.#file.wasReplaced();
  }

  /** @returns Whether there are new ones. */
  async read(): Promise<boolean> {
    const before = this.#alerts.length;
    for await (const part of this.#file.appended()) {
      this.#hasFile = true;
      const lines = (this.#rest + this.#decoder.decode(part, { stream: true })).split('\n');
      this.#rest = lines.pop()!;
      this.#alerts.push(...lines.filter((line) => line.includes(MARK)).flatMap(alertsOf));
    }
    const isNew = this.#alerts.length > before;
    this.#alerts = this.#alerts.slice(-MOST_ALERTS);
    return isNew;
  }
}

/** None if a killed process has left the line unfinished. */
function alertsOf(line: string): LoggedAlert[] {
  try {
    const { _step: step, _text: texts } = JSON.parse(line) as { _step: number; _text?: object };
    return Object.entries(texts ?? {}).flatMap(([key, text]) =>
      key.startsWith('alerts/') ? [{ kind: key.slice('alerts/'.length), text: String(text), step }] : [],
    );
  } catch {
    return [];
  }
}
