import { AccError } from '@acc/contract';
import type { EndingHandlers } from '../ending/process-ending.js';

/**
 * A page ends without waiting for anything. What trackers have written by then is stored, and the
 * next page that records into the same folder finishes the run.
 */
export class ProcessEnding {
  constructor(_handlers: EndingHandlers) {}

  /** A page that blocks its event loop gets no signals anyway. */
  beat(): boolean {
    return false;
  }

  dispose(): void {}
}

/** The files of a page report it with a code of their own. */
export const isDiskFull = (_error: unknown): boolean => false;

/** @throws AccError `ACC_NOT_IN_BROWSER`: the modules of a page are bundled before it runs. */
export function importPackage(name: string): Promise<{ default?: unknown }> {
  throw new AccError('ACC_NOT_IN_BROWSER', `A page cannot load the package ${name} by its name.`, {
    help: "Import the factory in the program, and give the tracker itself: logWith: [myTracker()]. 'console', 'jsonl' and 'csv' are built in.",
    details: { package: name },
  });
}
