export { isFakeQuantized, markFakeQuantized, unmarkFakeQuantized } from './fake-quantized.js';
export { frozenPacked } from './frozen.js';
export { hasOwnValues, packedOf, unpackedOf } from './packed-tensor.js';
export {
  baseName,
  formatIn,
  formatName,
  recordBytes,
  recordsName,
  type ChannelAxis,
  type Granularity,
  type PackedRecords,
  type PackedValues,
  type StorageDtype,
  type StorageFormat,
} from './packed-values.js';
