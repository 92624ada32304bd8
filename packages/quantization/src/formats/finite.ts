import { operator, type Tensor } from '@acc/native';
import { abs } from './operators.js';

const max = operator('aten::max');

/** Whether no value is NaN or infinite. */
export function allFinite(values: Tensor): boolean {
  using magnitudes = abs(values);
  using largest = max(magnitudes);
  return Number.isFinite((largest.read('float32') as Float32Array)[0]);
}
