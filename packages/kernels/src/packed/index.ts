export { hasOwnValues, packedOf } from './packed-tensor.js';
export type { PackedValues } from './packed-values.js';
