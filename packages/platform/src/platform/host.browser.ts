import { randomBelow } from '../random.js';
import { pagesAlive } from '../pages-alive.js';

/** Pages of one origin share their files, as processes of one host do. */
export function hostName(): string {
  return location.origin;
}

/** The number of this page. Each load of a page has another one. */
export const processId: number = 1 + randomBelow(2 ** 47);

/** Whether a page of this origin is open. Known after the files were opened. */
export function isProcessAlive(id: number): boolean {
  return id === processId || pagesAlive.has(id);
}

/** A page has no environment. */
export function environment(): Readonly<Record<string, string | undefined>> {
  return {};
}
