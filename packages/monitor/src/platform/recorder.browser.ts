import type * as recorder from './recorder.js';

/** A page has no thread that writes files. */
export class Recorder implements Pick<
  InstanceType<(typeof recorder)['Recorder']>,
  'endStep' | 'step' | 'close'
> {
  readonly windows = { take: () => undefined };

  endStep(): void {}

  step(): void {}

  close(): void {}
}
