import type * as recorder from './recorder.js';

/** A page has no thread that writes files. */
export class Recorder implements Pick<
  InstanceType<(typeof recorder)['Recorder']>,
  'endStep' | 'step' | 'close'
> {
  endStep(): void {}

  step(): void {}

  close(): void {}
}
