export { explain } from '../explained-step.js';
export { Variants } from '../variants.js';
