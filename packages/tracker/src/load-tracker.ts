import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { AccError, type Tracker } from '@acc/contract';
import { checkTracker } from './check-tracker.js';
import type { RecordedTracker } from './recording.js';

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

async function importPackage(name: string): Promise<{ default?: unknown }> {
  try {
    return (await import(name)) as { default?: unknown };
  } catch (error) {
    if (!isMissing(error, name)) throw error;
    const path = pathFromProgram(name);
    if (path === undefined) throw missing(name, error);
    return (await import(pathToFileURL(path).href)) as { default?: unknown };
  }
}

/**
 * If packages are not installed flat, only the program can resolve its dependencies; this module
 * cannot.
 */
function pathFromProgram(name: string): string | undefined {
  const places = [process.argv[1], join(process.cwd(), 'any.js')];
  for (const place of places) {
    if (place === undefined) continue;
    try {
      return createRequire(place).resolve(name);
    } catch (error) {
      if (!isMissing(error, name)) throw error;
    }
  }
  return undefined;
}

/** Whether the package itself is missing, as opposed to something that it imports. */
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  const isNotFound = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
  return isNotFound && message.includes(`'${name}'`);
}

function missing(name: string, cause: unknown): AccError {
  return new AccError('ACC_TRACKER_MISSING', `The tracker package ${name} is not installed.`, {
    help: `Install it: npm install ${name}`,
    cause,
    details: { package: name },
  });
}
