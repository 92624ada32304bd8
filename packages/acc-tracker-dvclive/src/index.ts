export { dvcliveTracker as default, dvcliveTracker, type DvcliveOptions } from './dvclive-tracker.js';
