import { finallyAfter } from '../async/finally-after.js';

let isTrial = false;

/** Runs layers on data that is none, for example to time them. They keep no figures of such calls. */
export function asTrial<T>(run: () => T): T {
  const before = isTrial;
  isTrial = true;
  return finallyAfter(run, () => (isTrial = before));
}

/** Whether a layer is called by {@link asTrial}. */
export const isInTrial = (): boolean => isTrial;
