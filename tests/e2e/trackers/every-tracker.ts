import { trackerCasesFor, type TrackerSubject } from '@acc/testkit';
import { describe, it } from 'vitest';

/** The published rules for trackers, one test for each. */
export function itDoesWhatEveryTrackerDoes(subject: TrackerSubject): void {
  describe('it does what every tracker does', () => {
    it.each(trackerCasesFor(subject).map((one) => [one.name, one] as const))('%s', async (_name, one) => {
      await one.run(subject);
    });
  });
}
