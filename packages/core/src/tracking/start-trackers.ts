import type { RunConfig } from '@acc/contract';
import { identifyRun, openRuns, type RunOptions, type TrackerBus } from '@acc/tracker';
import type { ResolvedOptions } from '../options.js';
import { trackersOf } from '../presets/trackers.js';

export interface Tracking {
  readonly bus: TrackerBus;
  readonly options: Pick<ResolvedOptions, 'logWith' | 'projectDir'>;
}

/** The arguments of `Accelerator.initTrackers` for a new run. */
export interface RunStart {
  readonly project: string;
  readonly config: RunConfig;
  readonly perTracker: Readonly<Record<string, object>>;
  readonly run: RunOptions;
  /** Whether this process determines the name of the run. */
  readonly isMain: boolean;
}

/**
 * Starts the trackers of `logWith`. Every rank must call it. The main process determines the name
 * of the run.
 *
 * @param broadcastObject Sends the main process's object to every rank.
 */
export async function startTrackers(
  { bus, options }: Tracking,
  { project, config, perTracker, run, isMain }: RunStart,
  broadcastObject: <T>(object: T) => T,
): Promise<void> {
  const { projectDir } = options;
  const trackers = await trackersOf(options, perTracker);
  await openRuns(projectDir);
  const own = isMain ? identifyRun(project, run, { projectDir, loaded: bus.loaded }) : undefined;
  const identity = broadcastObject(own)!;
  await bus.start({ identity, config, projectDir, trackers });
}
