import { existsSync } from 'node:fs';
import { isOfThisProject } from '@acc/contract';

/** The place in a program where a call was made. The stack is formatted only when it is read. */
export interface CallSite {
  readonly stack?: string;
}

/**
 * The number of stack frames to keep. A training step has about forty frames of this project and of
 * tfjs above the user's frame; `fit` has more.
 */
const MOST_FRAMES = 200;

/**
 * Captures the place of the caller. Formatting the trace is the expensive part, and is left to
 * {@link lineOf}.
 */
export function captureSite(): CallSite {
  const site: CallSite = {};
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = MOST_FRAMES;
  Error.captureStackTrace(site, captureSite);
  Error.stackTraceLimit = stackTraceLimit;
  return site;
}

/**
 * The first line of a trace in the user's own code, as `file:line:column`. Undefined if there is
 * none.
 */
export function lineOf({ stack = '' }: CallSite): string | undefined {
  for (const frame of stack.split('\n').slice(1)) {
    const [, place] = /\(?((?:file:\/\/|\/)[^()]*:\d+:\d+)\)?$/.exec(frame) ?? [];
    if (place && isUsers(place)) return place.replace('file://', '');
  }
  return undefined;
}

function isUsers(place: string): boolean {
  const path = place.replace('file://', '').replace(/:\d+:\d+$/, '');
  if (path.includes('/node_modules/') || isOfThisProject(path)) return false;
  // Source maps of installed packages may name source files that are not installed.
  return existsSync(path);
}
