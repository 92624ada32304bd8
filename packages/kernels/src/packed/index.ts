export { hasOwnValues, packedOf, unpackedOf } from './packed-tensor.js';
export type { PackedValues } from './packed-values.js';
