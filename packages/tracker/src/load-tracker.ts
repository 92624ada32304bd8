import { importPackage } from '#platform/process';
import { AccError, type Tracker } from '@acc/contract';
import { checkTracker } from './check-tracker.js';
import type { RecordedTracker } from './recorded-tracker.js';

/** A factory of trackers and its name. */
export interface TrackerMaker {
  readonly name: string;
  readonly make: (options?: object) => Tracker;
}

/** @throws AccError errors of the factory about its options; `ACC_TRACKER_INVALID`. */
export function makeTracker({ name, make }: TrackerMaker, options: object | undefined): RecordedTracker {
  const makeOne = () => checkTracker(`the tracker '${name}'`, options === undefined ? make() : make(options));
  return { tracker: makeOne(), make: makeOne };
}

/**
 * Loads the factory that an installed package exports by default. The package is resolved from this
 * package, then from the program's script, then from the working directory.
 *
 * @param name The name of the package.
 * @throws AccError `ACC_TRACKER_MISSING` if it is not installed, `ACC_TRACKER_INVALID` if it does
 * not export a factory.
 */
export async function loadTracker(name: string): Promise<TrackerMaker> {
  const { default: make } = await importPackage(name);
  if (typeof make === 'function') return { name, make: make as TrackerMaker['make'] };
  throw new AccError('ACC_TRACKER_INVALID', `The default export of the package ${name} is not a function.`, {
    help: 'Check that it is a tracker package. Its default export must be a factory: export default function myTracker(options).',
  });
}
