import type { RunConfig } from '@acc/contract';
import { identifyRun, type RunOptions, type TrackerBus } from '@acc/tracker';
import type { ResolvedOptions } from '../options.js';
import { trackersOf } from '../presets/trackers.js';

export interface Tracking {
  readonly bus: TrackerBus;
  readonly options: Pick<ResolvedOptions, 'logWith' | 'projectDir'>;
}

/** A run that is to start: the arguments of `Accelerator.initTrackers`. */
export interface RunStart {
  readonly project: string;
  readonly config: RunConfig;
  readonly perTracker: Readonly<Record<string, object>>;
  readonly run: RunOptions;
  /** Whether this process names the run. */
  readonly isMain: boolean;
}

/**
 * Starts the trackers of `logWith`. Every rank calls it. The main process names the run.
 *
 * @param broadcastObject Gives every rank the main process's object.
 */
export async function startTrackers(
  { bus, options }: Tracking,
  { project, config, perTracker, run, isMain }: RunStart,
  broadcastObject: <T>(object: T) => T,
): Promise<void> {
  const { projectDir } = options;
  const trackers = await trackersOf(options, perTracker);
  const own = isMain ? identifyRun(project, run, { projectDir, loaded: bus.loaded }) : undefined;
  const identity = broadcastObject(own)!;
  await bus.start({ identity, config, projectDir, trackers });
}
