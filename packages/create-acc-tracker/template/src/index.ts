export { myServiceTracker as default, myServiceTracker, type MyServiceOptions } from './tracker.js';
