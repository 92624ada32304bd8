export { syntheticRun, type Synthetic } from '@acc/records';
export { detectorCases, detectorCasesFor } from './cases.js';
export type { DetectorCase, DetectorSubject } from './subject.js';
