import { join, resolve } from 'node:path';
import { AccError, checkKeys, withLifecycle, type RunInfo, type Tracker } from '@acc/contract';
import { LiveFolder } from './live-folder.js';

export interface DvcliveOptions {
  /**
   * The folder of the files. A new run replaces the files of the run before it, as with DVCLive.
   * Default: `dvclive` in the folder of each run.
   */
  readonly dir?: string;
}

/**
 * Writes runs as DVCLive does, for `dvc` and for its extensions of editors: metrics, parameters,
 * images and files. DVCLive has no status of a run.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function dvcliveTracker(options: DvcliveOptions = {}): Tracker {
  checkKeys('dvclive', options, ['dir']);
  const { dir } = options;
  if (dir !== undefined && (typeof dir !== 'string' || dir === '')) {
    throw new AccError('ACC_INVALID_OPTION', `dvclive: dir is ${JSON.stringify(dir)}, expected a path.`, {
      help: 'Leave it out for a folder of its own for each run.',
    });
  }
  let folder: LiveFolder;
  const pathFor = (run: RunInfo) => resolve(dir ?? join(run.dir, 'dvclive'));
  return withLifecycle<Tracker>({
    name: 'dvclive',
    start(run) {
      folder = LiveFolder.begin(pathFor(run), run.id);
      return Promise.resolve();
    },
    resume(run, runId) {
      folder = LiveFolder.goOn(pathFor(run), runId);
      return Promise.resolve();
    },
    log: (step, metrics) => folder.addRows([{ step, metrics }]),
    logBatch: (rows) => folder.addRows(rows),
    logConfig: (config) => folder.writeParams(config),
    logImage: (step, key, { png }) => folder.addImage(key, step, png),
    logArtifact: (_step, artifact, { signal }) => folder.addArtifact(artifact, signal),
    finish: () => Promise.resolve(),
  });
}
