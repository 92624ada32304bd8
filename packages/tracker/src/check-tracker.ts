import { AccError, checkKeys, nearestName, TRACKER_KEYS, type Tracker } from '@acc/contract';

const REQUIRED = ['start', 'log', 'finish'] as const;
/** Names reserved for members of a tracker. A class may have any other members. */
const OURS = /^(log|start|finish|resume|ranks)/i;

/**
 * Rejects values that are not trackers, and members whose names resemble those of a tracker but do
 * not exist.
 *
 * @param where The value as the user wrote it.
 * @throws AccError `ACC_TRACKER_INVALID`, `ACC_UNKNOWN_OPTION`.
 */
export function checkTracker(where: string, value: unknown): Tracker {
  if (typeof value === 'function') {
    throw invalid(where, 'is a function', 'Call it: logWith takes trackers, not their factories.');
  }
  if (typeof value !== 'object' || value === null) {
    throw invalid(
      where,
      `is ${value === null ? 'null' : typeof value}`,
      'Give the name of a tracker, or a Tracker object.',
    );
  }
  const tracker = value as Tracker;
  if (typeof tracker.name !== 'string' || tracker.name === '') {
    throw invalid(where, 'has no name', 'Add a name. getTracker finds the tracker by it.');
  }
  const missing = REQUIRED.filter((key) => typeof tracker[key] !== 'function');
  if (missing.length > 0) {
    throw invalid(
      where,
      `lacks ${missing.join(', ')}`,
      'A tracker has start, log and finish: see @acc/contract.',
    );
  }
  const prototype = Object.getPrototypeOf(tracker) as object | null;
  if (prototype === null || prototype === Object.prototype) checkKeys(where, tracker, TRACKER_KEYS);
  else checkMembers(where, tracker);
  return tracker;
}

function checkMembers(where: string, tracker: object): void {
  const known: readonly string[] = TRACKER_KEYS;
  for (
    let level = tracker;
    level !== Object.prototype && level !== null;
    level = Object.getPrototypeOf(level)
  ) {
    for (const key of Object.getOwnPropertyNames(level)) {
      if (known.includes(key) || !OURS.test(key)) continue;
      const nearest = nearestName(key, known);
      throw invalid(
        where,
        `has a member '${key}', which trackers don't have`,
        nearest ? `Did you mean '${nearest}'? If the member is your own, rename it.` : 'Rename it.',
      );
    }
  }
}

function invalid(where: string, problem: string, help: string): AccError {
  return new AccError('ACC_TRACKER_INVALID', `${where} ${problem}.`, { help });
}
