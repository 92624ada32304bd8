import type { Sources } from '../source/sources.js';
import type { ExecutionRecord } from './record.js';

/** Tests that executed a function which has changed since: they may go another way now. */
export function staleTests({ tests, executions }: ExecutionRecord, sources: Sources): Set<string> {
  const stale = new Set<string>();
  for (const [path, functions] of executions) {
    const present = new Set(sources.keysOf(path));
    for (const [key, numbers] of functions) {
      if (present.has(key)) continue;
      for (const number of numbers) stale.add(tests.get(number)!.path);
    }
  }
  return stale;
}
