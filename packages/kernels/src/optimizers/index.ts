export { adafactor, type Adafactor, type AdafactorOptions } from './adafactor.js';
export { adamw, type AdamW, type AdamWOptions } from './adamw.js';
export { fusedApply } from './fused/fused-apply.js';
export { lamb, type Lamb, type LambOptions } from './lamb.js';
export { lion, type Lion, type LionOptions } from './lion.js';
export type { NameFilter } from './name-filter.js';
export { registerOptimizers } from './register-optimizers.js';
export { sgdw, type SgdW, type SgdWOptions } from './sgdw.js';
export type { WeightDecayOptions } from './weight-decay.js';
