const LEAST_MS = 2;
const MOST_MS = 100;

/** How long to pause before asking again for what others do: what came meanwhile is noticed after an eighth of its time, or sooner. */
export function pauseMsAfter(waitedMs: number): number {
  return Math.min(Math.max(waitedMs / 8, LEAST_MS), MOST_MS);
}
