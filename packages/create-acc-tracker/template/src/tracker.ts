import { AccError, checkKeys, withLifecycle, type Tracker } from '@acc/contract';
import { Store } from './store.js';

export interface MyServiceOptions {
  /** The folder of the store. Default: the folder of each run. */
  readonly folder?: string;
}

/**
 * Records runs with MyService.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function myServiceTracker(options: MyServiceOptions = {}): Tracker {
  // Wrong options throw at once. Nothing else happens before `start`.
  checkKeys('my-service', options, ['folder']);
  const { folder } = options;
  if (folder !== undefined && typeof folder !== 'string') {
    throw new AccError('ACC_INVALID_OPTION', `my-service: folder is ${String(folder)}, expected a path.`, {
      help: 'Leave it out for the folder of the run.',
    });
  }
  let store: Store;
  // Rejects calls before `start` and after `finish`.
  return withLifecycle<Tracker>({
    name: 'my-service',
    start(run) {
      store = new Store(folder ?? run.dir, run.id);
      store.add({ kind: 'start', project: run.project, name: run.name, tags: run.tags });
      return Promise.resolve();
    },
    // An earlier process began the run. Leave this method out if your service cannot resume runs.
    resume(run, runId) {
      store = new Store(folder ?? run.dir, runId);
      return Promise.resolve();
    },
    log: (step, metrics, { timeMs }) => store.addMetrics([{ step, timeMs, metrics }]),
    // Receives up to 500 calls of `log` at once, once per second. `log` is then not called. Leave
    // it out if you do not need it.
    logBatch: (rows) => store.addMetrics(rows),
    logConfig: (config) => store.add({ kind: 'config', config }),
    logText: (step, key, text) => store.add({ kind: 'text', step, key, text }),
    // Other methods that a tracker can have: logImage, logHistogram, logTable, logArtifact, logModel.
    finish(status) {
      store.add({ kind: 'finish', status });
      store.close();
      return Promise.resolve();
    },
  });
}
