export { MAX_VARIANTS, Variants } from '../compile/variants.js';
