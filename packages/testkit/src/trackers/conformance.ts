import { orderCases } from './order-cases.js';
import type { TrackerCase, TrackerSubject } from './subject.js';
import { valueCases } from './value-cases.js';

/** The cases for every tracker. */
export const trackerCases: readonly TrackerCase[] = [...orderCases, ...valueCases];

/**
 * The cases that apply to a tracker, for a test runner: `for (const { name, run } of
 * trackerCasesFor(subject)) it(name, () => run(subject))`. A case throws if it fails.
 */
export function trackerCasesFor(subject: TrackerSubject): readonly TrackerCase[] {
  return trackerCases.filter((one) => one.appliesTo?.(subject) ?? true);
}
