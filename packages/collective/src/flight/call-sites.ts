import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Where in a program a call was made: kept as it was, and written out only when somebody asks. */
export interface CallSite {
  readonly stack?: string;
}

/** Frames that are looked at: a step of training has some forty of ours and of tfjs above its user's, a `fit` more. */
const MOST_FRAMES = 200;

/** The place of the caller. The trace is not written out here, which is what costs. */
export function captureSite(): CallSite {
  const site: CallSite = {};
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = MOST_FRAMES;
  Error.captureStackTrace(site, captureSite);
  Error.stackTraceLimit = stackTraceLimit;
  return site;
}

/** Where this package and those beside it lie: `packages/` of a checkout, or `node_modules/@acc/`. */
const OURS = fileURLToPath(import.meta.url).replace(/collective[\\/](src|dist)[\\/].*$/, '');

/** The first line of a trace that is the user's own, as `file:line:column`; undefined where there is none. */
export function lineOf({ stack = '' }: CallSite): string | undefined {
  for (const frame of stack.split('\n').slice(1)) {
    const [, place] = /\(?((?:file:\/\/|\/)[^()]*:\d+:\d+)\)?$/.exec(frame) ?? [];
    if (place && isUsers(place)) return place.replace('file://', '');
  }
  return undefined;
}

function isUsers(place: string): boolean {
  const path = place.replace('file://', '').replace(/:\d+:\d+$/, '');
  if (path.includes('/node_modules/') || path.startsWith(OURS)) return false;
  // Source maps of packages name sources that are not there.
  return existsSync(path);
}
