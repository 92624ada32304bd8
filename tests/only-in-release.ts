import { inject } from 'vitest';

/** Cases of `npm run test:release`: none in `npm test`. The file is in REPEATED of scripts/queue/projects.mjs. */
export function onlyInRelease<T>(cases: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return inject('isRelease') ? cases : {};
}
