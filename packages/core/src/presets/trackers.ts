import { AccError, isAccError, isRecord, nearestName, showValue } from '@acc/contract';
import {
  checkTracker,
  consoleTracker,
  csvTracker,
  jsonlTracker,
  loadTracker,
  makeTracker,
  type RecordedTracker,
  type TrackerMaker,
} from '@acc/tracker';
import type { ResolvedOptions } from '../options.js';

const BUILT_IN_TRACKERS: ReadonlyMap<string, TrackerMaker['make']> = new Map(
  Object.entries({ console: consoleTracker, jsonl: jsonlTracker, csv: csvTracker }),
);
const TRACKER_PACKAGES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    tensorboard: '@acc/tracker-tensorboard',
    mlflow: '@acc/tracker-mlflow',
    wandb: '@acc/tracker-wandb',
    clearml: 'acc-tracker-clearml',
    comet: 'acc-tracker-comet',
    dvclive: 'acc-tracker-dvclive',
    prometheus: 'acc-tracker-prometheus',
    trackio: 'acc-tracker-trackio',
  }),
);

/**
 * Returns the trackers of the options, which are names or objects.
 *
 * @param perTracker Options of the trackers that are given by name.
 * @throws AccError `ACC_NO_TRACKERS`, `ACC_TRACKER_MISSING`, `ACC_TRACKER_INVALID`,
 * `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function trackersOf(
  { logWith }: Pick<ResolvedOptions, 'logWith'>,
  perTracker: Readonly<Record<string, object>>,
): Promise<RecordedTracker[]> {
  if (!logWith) {
    throw new AccError('ACC_NO_TRACKERS', 'initTrackers: the Accelerator has no trackers.', {
      help: "Name trackers with Accelerator.create({ logWith: ['console', 'jsonl'] }). To run without trackers, give an empty list.",
    });
  }
  if (!isRecord(perTracker)) throw noRecord(perTracker);
  const names = logWith.filter((entry) => typeof entry === 'string');
  const other = Object.keys(perTracker).find((name) => !names.includes(name));
  if (other !== undefined) throw notNamed(other, names);
  return Promise.all(
    logWith.map(async (entry) =>
      typeof entry === 'string'
        ? makeTracker(await trackerMaker(entry), perTracker[entry])
        : { tracker: checkTracker('logWith', entry) },
    ),
  );
}

function noRecord(perTracker: unknown): AccError {
  const given = `initTrackers: the options of trackers are ${showValue(perTracker)}; expected an object.`;
  return new AccError('ACC_INVALID_OPTION', given, {
    help: "Give them by the tracker's name: initTrackers('run', {}, { jsonl: {} }). Or leave the argument out.",
  });
}

/** The error for options of a tracker that `logWith` does not name. */
function notNamed(key: string, names: readonly string[]): AccError {
  const isKnown = BUILT_IN_TRACKERS.has(key) || TRACKER_PACKAGES.has(key);
  const nearest = isKnown ? undefined : nearestName(key, names);
  const all = [...names, key].map((name) => `'${name}'`).join(', ');
  return new AccError(
    'ACC_UNKNOWN_OPTION',
    `initTrackers has options for '${key}', which logWith does not name.`,
    {
      help: nearest ? `Did you mean '${nearest}'?` : `Name it: logWith: [${all}]. Or leave its options out.`,
      details: { where: 'initTrackers', key, nearest, known: names },
    },
  );
}

/**
 * Finds a tracker by name: a built-in one, or a package with that name or with `acc-tracker-`
 * before it.
 */
async function trackerMaker(name: string): Promise<TrackerMaker> {
  const make = BUILT_IN_TRACKERS.get(name);
  if (make) return { name, make };
  const isWhole = name.startsWith('@') || name.startsWith('acc-tracker-');
  const packageName = TRACKER_PACKAGES.get(name) ?? (isWhole ? name : `acc-tracker-${name}`);
  try {
    return await loadTracker(packageName);
  } catch (error) {
    if (!isAccError(error, 'ACC_TRACKER_MISSING')) throw error;
    throw missingTracker(name, packageName, error);
  }
}

/** Names a package to install only if it is known: an unknown name may be misspelt, or a stranger's. */
function missingTracker(
  name: string,
  packageName: string,
  { code, message, help, cause }: AccError,
): AccError {
  const short = [...BUILT_IN_TRACKERS.keys(), ...TRACKER_PACKAGES.keys()];
  const [sentence] = message.split('\n');
  const details = { package: packageName };
  if ([...TRACKER_PACKAGES.values()].includes(packageName)) {
    return new AccError(code, sentence!, { help: `Install it: npm install ${packageName}`, details, cause });
  }
  // The beginning that many names share would make any two of them similar.
  const nearest = nearestName(name.replace(/^(acc-|@acc\/)tracker-/, ''), short);
  return new AccError(code, `logWith: '${name}' is not a known tracker. ${sentence}`, {
    help: nearest ? `Did you mean '${nearest}'?` : `Known trackers: ${short.join(', ')}. ${help}`,
    details: { ...details, nearest },
    cause,
  });
}
