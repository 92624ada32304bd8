import { join } from 'node:path';
import {
  AccError,
  checkKeys,
  flattenConfig,
  withLifecycle,
  type MetricsRow,
  type RunInfo,
  type Tracker,
} from '@acc/contract';
import { EventFile } from './event-file.js';
import { topologyIn } from './keras-model.js';
import { markdownTable } from './markdown.js';
import {
  histogram,
  image,
  kerasGraph,
  scalar,
  sessionEnd,
  sessionStart,
  text,
  type SummaryValue,
} from './summaries.js';

export interface TensorBoardOptions {
  /**
   * The folder that contains one folder for each run, named after the run. Default: the run's own
   * folder.
   */
  readonly logDir?: string;
}

/**
 * Writes event files for TensorBoard: scalars, images, histograms, text and hyperparameters.
 * The graph of a tf.LayersModel is shown if its files are logged as a `model`. Tables, lists of artifact files, the run's name and its tags become text. A resumed run writes a
 * further file to its folder.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function tensorboardTracker(options: TensorBoardOptions = {}): Tracker {
  checkKeys('tensorboard', options, ['logDir']);
  const { logDir } = options;
  if (logDir !== undefined && (typeof logDir !== 'string' || logDir === '')) {
    throw new AccError('ACC_INVALID_OPTION', `tensorboard: logDir is ${JSON.stringify(logDir)}.`, {
      help: 'Give the path of a folder, or leave logDir out.',
    });
  }
  let file: EventFile;
  let run: RunInfo;
  const open = (of: RunInfo): void => {
    run = of;
    file = new EventFile(logDir === undefined ? run.dir : join(logDir, run.name));
  };
  const add = (step: number, timeMs: number, ...values: SummaryValue[]): void =>
    file.add(step, timeMs, values);
  const addRow = ({ step, timeMs, metrics }: Omit<MetricsRow, 'sequence'>): void =>
    add(step, timeMs, ...Object.entries(metrics).map(([key, value]) => scalar(key, value)));
  const flushed = (work: () => void): void => {
    work();
    file.flush();
  };
  return withLifecycle<Tracker>({
    name: 'tensorboard',
    start(of) {
      open(of);
      const { project, name, id, tags } = of;
      const rows = Object.entries({ project, name, id, ...tags });
      flushed(() => add(0, of.startTimeMs, text('run', markdownTable({ columns: ['', ''], rows }))));
      return Promise.resolve();
    },
    resume(of) {
      open(of);
      return Promise.resolve();
    },
    log: (step, metrics, { timeMs }) => flushed(() => addRow({ step, timeMs, metrics })),
    logBatch: (rows) => flushed(() => rows.forEach(addRow)),
    logConfig: (config, { timeMs }) =>
      flushed(() => {
        const start = sessionStart(flattenConfig(config), run.startTimeMs, run.name);
        file.addAside(0, timeMs, [start]);
      }),
    logText: (step, key, markdown, { timeMs }) => flushed(() => add(step, timeMs, text(key, markdown))),
    logImage: (step, key, of, { timeMs }) => flushed(() => add(step, timeMs, image(key, of))),
    logHistogram: (step, key, of, { timeMs }) => flushed(() => add(step, timeMs, histogram(key, of))),
    logTable: (step, key, table, { timeMs }) =>
      flushed(() => add(step, timeMs, text(key, markdownTable(table)))),
    logArtifact(step, { name, type, files }, { timeMs }) {
      const rows = files.map((of) => [of.name, of.bytes, of.path]);
      const table = markdownTable({ columns: [type, 'bytes', 'path'], rows });
      const topology = type === 'model' ? topologyIn(files) : undefined;
      flushed(() => {
        add(step, timeMs, text(`artifacts/${name}`, table));
        if (topology !== undefined) add(step, timeMs, kerasGraph(name, topology));
      });
    },
    finish(status) {
      file.addAside(0, Date.now(), [sessionEnd(status === 'completed', Date.now())]);
      file.close();
      return Promise.resolve();
    },
  });
}
