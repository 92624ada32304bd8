import { AccError, checkKeys } from '@acc/contract';
import { randomHex } from '@acc/platform';
import { readRecord, recordPath, runFolder } from './run-record.js';

/** Options of a run, for all trackers. */
export interface RunOptions {
  /** The name that is shown to people. Default: the id. */
  readonly name?: string;
  /** Tags: words, or values by name. */
  readonly tags?: readonly string[] | Readonly<Record<string, string>>;
  /** The id of an earlier run to resume. Default: the run of the loaded state, else a new run. */
  readonly resume?: string;
}

/** The identity of a run, the same on every rank. */
export interface RunIdentity {
  readonly project: string;
  readonly id: string;
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly startTimeMs: number;
  /** The ids that rank 0's trackers gave the run in an earlier process. Undefined for a new run. */
  readonly earlier?: Readonly<Record<string, string>>;
}

/** The state of the run that a checkpoint stores. */
export interface TrackersState {
  readonly run: RunIdentity | null;
  /** Optimizer steps so far. */
  readonly step: number;
}

const ID = /^[A-Za-z0-9_-]{1,100}$/;

/**
 * Creates the identity of a new run, or returns that of the run to resume.
 *
 * @param loaded The run of a checkpoint.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_ARGUMENT`, `ACC_RUN_MISSING`.
 */
export function identifyRun(
  project: string,
  options: RunOptions,
  { projectDir, loaded }: { projectDir: string; loaded: RunIdentity | undefined },
): RunIdentity {
  checkKeys('initTrackers', options, ['name', 'tags', 'resume']);
  if (typeof project !== 'string' || project.trim() === '') {
    throw new AccError('ACC_INVALID_ARGUMENT', `initTrackers: the project is ${JSON.stringify(project)}.`, {
      help: "Give its name: initTrackers('mnist').",
    });
  }
  const tags = tagsOf(options.tags);
  const { resume } = options;
  const earlier = resume === undefined ? loaded : findRun(project, resume, { projectDir, loaded });
  if (earlier && earlier.project === project) {
    return { ...earlier, name: options.name ?? earlier.name, tags: { ...earlier.tags, ...tags } };
  }
  const startTimeMs = Date.now();
  const id = newId(startTimeMs);
  return { project, id, name: options.name ?? id, tags, startTimeMs };
}

/**
 * The id starts with the time of the start, so that folders sort by it, and ends with a random
 * part.
 */
function newId(startTimeMs: number): string {
  const [date, time] = new Date(startTimeMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').split('T');
  return `${date}-${time}-${randomHex(3)}`;
}

function tagsOf(tags: RunOptions['tags'] = {}): Record<string, string> {
  return Array.isArray(tags)
    ? Object.fromEntries(tags.map((tag) => [String(tag), '']))
    : Object.fromEntries(Object.entries(tags).map(([key, value]) => [key, String(value)]));
}

function findRun(
  project: string,
  id: string,
  { projectDir, loaded }: { projectDir: string; loaded: RunIdentity | undefined },
): RunIdentity {
  if (loaded?.id === id && loaded.project === project) return loaded;
  const path = ID.test(id) ? recordPath(runFolder(projectDir, project, id), 0) : undefined;
  if (path === undefined) {
    throw new AccError('ACC_RUN_MISSING', `'${id}' is not the id of a run.`, {
      help: 'Give the id of a run.',
    });
  }
  const found = readRecord(path);
  if (!found.record) {
    throw new AccError(
      'ACC_RUN_MISSING',
      `Run '${id}' of '${project}' cannot be resumed. Its record is ${path}: ${found.problem}.`,
      {
        help: 'Set projectDir to the folder in which the run was recorded, or leave resume out to begin a new run.',
      },
    );
  }
  const { record } = found;
  return { ...identityOf(record.run), earlier: record.trackers };
}

export function identityOf({ project, id, name, tags, startTimeMs }: RunIdentity): RunIdentity {
  return { project, id, name, tags, startTimeMs };
}
