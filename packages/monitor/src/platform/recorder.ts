export { LiveDiagnosis } from '../records/live-diagnosis.js';
export { Recorder } from '../records/recorder.js';
