import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { AccError, type Tracker } from '@acc/contract';
import { checkTracker } from './check-tracker.js';
import type { RecordedTracker } from './recording.js';

/** What makes trackers, and what it is called. */
export interface TrackerMaker {
  readonly name: string;
  readonly make: (options?: object) => Tracker;
}

/** @throws AccError what the factory throws about its options; `ACC_TRACKER_INVALID`. */
export function makeTracker({ name, make }: TrackerMaker, options: object | undefined): RecordedTracker {
  const makeOne = () => checkTracker(`the tracker '${name}'`, options === undefined ? make() : make(options));
  return { tracker: makeOne(), make: makeOne };
}

/**
 * The factory that an installed package exports by default. The package is looked for where this one lies, then from the
 * program's script and the working directory.
 *
 * @param name The package's.
 * @throws AccError `ACC_TRACKER_MISSING` where it is not installed, `ACC_TRACKER_INVALID` where it exports no factory.
 */
export async function loadTracker(name: string): Promise<TrackerMaker> {
  const { default: make } = await importPackage(name);
  if (typeof make === 'function') return { name, make: make as TrackerMaker['make'] };
  throw new AccError('ACC_TRACKER_INVALID', `The package ${name} exports no function by default.`, {
    help: 'Is it a tracker? Its default export makes one: export default function myTracker(options).',
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

/** Where packages are not laid out flat, the program sees those that it depends on, and this module doesn't. */
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

/** It is the package itself that is missing, not something that it imports. */
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
