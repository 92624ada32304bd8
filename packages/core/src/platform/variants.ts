export { Variants } from '../compile/variants.js';
