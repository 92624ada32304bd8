import { operator } from '@acc/native';

const hasInstructions = operator('acc::has_int8_products');

/** See `PrecisionLayer.int8Products`. */
export function int8Products(device: string): 'instructions' | 'float32' | undefined {
  if (device !== 'cpu') return undefined;
  using found = hasInstructions();
  return found.read()[0] ? 'instructions' : 'float32';
}
