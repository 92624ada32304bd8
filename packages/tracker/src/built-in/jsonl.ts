import { AccError, checkKeys, withLifecycle, type RunInfo, type Tracker } from '@acc/contract';
import { dirname, files, join } from '@acc/platform';
import { AppendFile } from './append-file.js';

export interface JsonlOptions {
  /** Default `metrics.jsonl` in the run's folder. */
  readonly path?: string;
}

type Line = Readonly<Record<string, unknown>>;

/**
 * Writes a line of JSON for each call: `{"_step": 3, "_timeMs": …, "loss": 0.3}`. Data other than
 * metrics is under the keys `_config`, `_text`, `_image`, `_histogram`, `_table`, `_artifact` and
 * `_status`. Images are PNG files beside the file. NaN and infinities are the strings "NaN",
 * "Infinity" and "-Infinity".
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function jsonlTracker(options: JsonlOptions = {}): Tracker {
  checkKeys('jsonl', options, ['path']);
  if (options.path !== undefined && typeof options.path !== 'string') {
    throw new AccError('ACC_INVALID_OPTION', `jsonl: path is ${String(options.path)}, expected a path.`, {
      help: 'Leave it out for a file in the folder of the run.',
    });
  }
  let file: AppendFile | undefined;
  let imageFolder = '';
  const open = (run: RunInfo): Promise<void> => {
    file = new AppendFile(options.path ?? join(run.dir, 'metrics.jsonl'), false);
    imageFolder = join(dirname(file.path), 'images');
    return Promise.resolve();
  };
  const write = (lines: readonly Line[]) =>
    file!.write(lines.map((line) => `${JSON.stringify(line, textForNumber)}\n`).join(''));
  const line = (step: number, timeMs: number, values: Line) => ({ _step: step, _timeMs: timeMs, ...values });
  return withLifecycle<Tracker>({
    name: 'jsonl',
    start: open,
    resume: open,
    log: (step, metrics, { timeMs }) => write([line(step, timeMs, metrics)]),
    logBatch: (rows) => write(rows.map(({ step, timeMs, metrics }) => line(step, timeMs, metrics))),
    logConfig: (config, { timeMs }) => write([{ _timeMs: timeMs, _config: config }]),
    logText: (step, key, text, { timeMs }) => write([line(step, timeMs, { _text: { [key]: text } })]),
    logImage(step, key, { width, height, png }, { timeMs, sequence }) {
      const path = join(imageFolder, `${key.replace(/[^\w.-]/g, '_')}-${step}-${sequence}.png`);
      files.makeFolder(imageFolder);
      files.write(path, png);
      write([line(step, timeMs, { _image: { [key]: { path, width, height } } })]);
    },
    logHistogram: (step, key, histogram, { timeMs }) =>
      write([line(step, timeMs, { _histogram: { [key]: histogram } })]),
    logTable: (step, key, table, { timeMs }) => write([line(step, timeMs, { _table: { [key]: table } })]),
    logArtifact: (step, artifact, { timeMs }) => write([line(step, timeMs, { _artifact: artifact })]),
    finish(status) {
      write([{ _timeMs: Date.now(), _status: status }]);
      file!.close();
      return Promise.resolve();
    },
  });
}

function textForNumber(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
}
