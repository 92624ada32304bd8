import {
  AccError,
  checkKeys,
  flattenConfig,
  withLifecycle,
  type MetricsRow,
  type RunInfo,
  type Tracker,
} from '@acc/contract';
import { dirname, files, join } from '@acc/platform';
import { AppendFile } from './append-file.js';

export interface CsvOptions {
  /** Default `metrics.csv` in the run's folder. */
  readonly path?: string;
}

const FIXED = ['step', 'timeMs'];

/**
 * Writes a row for each `log`, with a column for each metric (RFC 4180). A new metric rewrites the
 * file with one more column. Hyperparameters are in `config.csv` beside it.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function csvTracker(options: CsvOptions = {}): Tracker {
  checkKeys('csv', options, ['path']);
  if (options.path !== undefined && typeof options.path !== 'string') {
    throw new AccError('ACC_INVALID_OPTION', `csv: path is ${String(options.path)}, expected a path.`, {
      help: 'Leave it out for a file in the folder of the run.',
    });
  }
  let table: CsvFile | undefined;
  const open = (run: RunInfo): Promise<void> => {
    table = new CsvFile(options.path ?? join(run.dir, 'metrics.csv'));
    return Promise.resolve();
  };
  return withLifecycle<Tracker>({
    name: 'csv',
    start: open,
    resume: open,
    log: (step, metrics, { timeMs, sequence }) => table!.add([{ step, metrics, timeMs, sequence }]),
    logBatch: (rows) => table!.add(rows),
    logConfig(config) {
      const rows = Object.entries(flattenConfig(config)).map(([key, value]) => rowText([key, String(value)]));
      files.write(join(dirname(table!.path), 'config.csv'), `key,value\n${rows.join('')}`);
    },
    finish() {
      table!.close();
      return Promise.resolve();
    },
  });
}

class CsvFile {
  readonly path: string;
  #file: AppendFile;
  #metrics: string[];

  /** Opens the file, or continues an existing one. */
  constructor(path: string) {
    this.path = path;
    const header = files.exists(path) ? files.readText(path).split('\n', 1)[0]! : '';
    this.#metrics = parseRow(header).slice(FIXED.length);
    this.#file = new AppendFile(path, true);
  }

  add(rows: readonly MetricsRow[]): void {
    const known = new Set(this.#metrics);
    const added = [...new Set(rows.flatMap(({ metrics }) => Object.keys(metrics)))].filter(
      (key) => !known.has(key),
    );
    if (added.length > 0) this.#widen(added);
    this.#file.write(rows.map((row) => rowText(this.#cells(row))).join(''));
  }

  close(): void {
    this.#file.close();
  }

  #cells({ step, timeMs, metrics }: MetricsRow): string[] {
    const cells = this.#metrics.map((key) => (key in metrics ? String(metrics[key]) : ''));
    return [String(step), String(timeMs), ...cells];
  }

  /** Adds columns. Existing rows get empty cells. */
  #widen(added: readonly string[]): void {
    const metrics = [...this.#metrics, ...added];
    const rows = files.readText(this.path).split('\n').slice(1).filter(Boolean);
    const header = rowText([...FIXED, ...metrics]);
    const temporary = `${this.path}.tmp`;
    files.write(temporary, header + rows.map((row) => `${row}${','.repeat(added.length)}\n`).join(''));
    files.rename(temporary, this.path);
    this.#metrics = metrics;
    this.#file.close();
    this.#file = new AppendFile(this.path, true);
  }
}

/**
 * Formats one line. The package csv-stringify would do the same in the same time, but adds 1 MB to
 * every installation.
 */
function rowText(cells: readonly string[]): string {
  const quoted = cells.map((cell) => {
    const text = cell.replace(/[\r\n]+/g, ' ');
    return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${quoted.join(',')}\n`;
}

/** Parses the cells of one line. */
function parseRow(line: string): string[] {
  const cells = line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g);
  return line === '' ? [] : Array.from(cells, ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain!);
}
