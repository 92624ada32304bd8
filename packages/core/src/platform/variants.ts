export { explain } from '../compile/explained-step.js';
export { Variants } from '../compile/variants.js';
