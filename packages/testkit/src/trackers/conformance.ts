import { orderCases } from './order-cases.js';
import type { TrackerCase, TrackerSubject } from './subject.js';
import { valueCases } from './value-cases.js';

/** What every tracker does. */
export const trackerCases: readonly TrackerCase[] = [...orderCases, ...valueCases];

/**
 * The cases that say anything about a tracker, for a test runner: `for (const { name, run } of trackerCasesFor(subject))
 * it(name, () => run(subject))`. Each of them fails by throwing.
 */
export function trackerCasesFor(subject: TrackerSubject): readonly TrackerCase[] {
  return trackerCases.filter((one) => one.appliesTo?.(subject) ?? true);
}
