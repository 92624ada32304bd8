export { adafactor, type Adafactor, type AdafactorOptions } from './adafactor.js';
export { adamw, AdamW, type AdamWOptions } from './adamw.js';
export { lamb, type Lamb, type LambOptions } from './lamb.js';
export { lion, type Lion, type LionOptions } from './lion.js';
export { oneBitAdam, type OneBitAdam, type OneBitAdamOptions } from './one-bit-adam.js';
export { registerOptimizers } from './register-optimizers.js';
export { sgdw, SgdW, type SgdWOptions } from './sgdw.js';
export type { WeightDecayOptions } from './weight-decay.js';
export type { NameFilter } from '@acc/kernels/optimizer-steps';
