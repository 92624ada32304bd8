import { AccError, checkKeys, withLifecycle, type Tracker } from '@acc/contract';
import { Store } from './store.js';

export interface MyServiceOptions {
  /** The folder of the store. Default: each run's own. */
  readonly folder?: string;
}

/**
 * Records runs with MyService.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function myServiceTracker(options: MyServiceOptions = {}): Tracker {
  // What can be wrong is told at once. Nothing else happens before `start`.
  checkKeys('my-service', options, ['folder']);
  const { folder } = options;
  if (folder !== undefined && typeof folder !== 'string') {
    throw new AccError('ACC_INVALID_OPTION', `my-service: folder is ${String(folder)}, expected a path.`);
  }
  let store: Store;
  // Refuses what is called before `start` and after `finish`.
  return withLifecycle<Tracker>({
    name: 'my-service',
    start(run) {
      store = new Store(folder ?? run.dir, run.id);
      store.add({ kind: 'start', project: run.project, name: run.name, tags: run.tags });
      return Promise.resolve();
    },
    // An earlier process began the run. Leave this out if your service can't do that.
    resume(run, runId) {
      store = new Store(folder ?? run.dir, runId);
      return Promise.resolve();
    },
    log: (step, metrics, { timeMs }) => store.addMetrics([{ step, timeMs, metrics }]),
    // Up to 500 calls of `log` in one, once a second. Then `log` is not called. Leave it out if you don't need it.
    logBatch: (rows) => store.addMetrics(rows),
    logConfig: (config) => store.add({ kind: 'config', config }),
    logText: (step, key, text) => store.add({ kind: 'text', step, key, text }),
    // Others that there are: logImage, logHistogram, logTable, logArtifact.
    finish(status) {
      store.add({ kind: 'finish', status });
      store.close();
      return Promise.resolve();
    },
  });
}
