import type * as recorder from './recorder.js';

type Platform = typeof recorder;

/** A page has no thread that writes files. */
export class Recorder implements Pick<InstanceType<Platform['Recorder']>, 'endStep' | 'step' | 'close'> {
  readonly windows = { take: () => undefined };

  endStep(): void {}

  step(): void {}

  close(): void {}
}

/** A page has no records to look at. */
export class LiveDiagnosis implements Pick<InstanceType<Platform['LiveDiagnosis']>, 'step'> {
  step(): undefined {}
}
