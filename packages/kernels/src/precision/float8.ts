import { isAccError } from '@acc/contract';
import { operator } from '@acc/native';

const full = operator('aten::full');
const toDtype = operator('aten::to.dtype');
const transpose = operator('aten::t');
const scaledProduct = operator('aten::_scaled_mm');

/** Tensor cores need sizes that are multiples of 16. */
const SIZE = 16;

/**
 * Multiplies two small matrices of 8-bit floats. Returns why the device cannot, or undefined if it
 * can.
 */
export function float8Problem(): string | undefined {
  using ones = full([SIZE, SIZE], 1, 'float32');
  using scale = full([], 1, 'float32');
  try {
    using narrow = toDtype(ones, 'float8_e4m3fn');
    // The second factor must be column-major.
    using turned = transpose(narrow);
    using product = scaledProduct(narrow, turned, scale, scale, null, null, 'bfloat16');
    const found = product.read('float32')[0];
    return found === SIZE ? undefined : `aten::_scaled_mm returned ${String(found)} instead of ${SIZE}`;
  } catch (error) {
    if (!isAccError(error) || error.code === 'ACC_DEVICE_FAILED') throw error;
    return error.message.split('\n', 1)[0]!;
  }
}

/** Whether 8-bit floats are multiplied as float32 on the device. */
export const emulatesFloat8 = (device: string): boolean => device === 'cpu';
