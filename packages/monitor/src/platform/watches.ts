export { GpuClock } from '../gpu.js';
export { StallWatch } from '../stall-watch.js';
export { SystemClock } from '../system.js';
