export { Recorder } from '../records/recorder.js';
