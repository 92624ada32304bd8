export { Preemption } from '../state/preemption.js';
