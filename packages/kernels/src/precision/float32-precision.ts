import { AccError, isAccError, type Float32Precision } from '@acc/contract';
import { operator, setFloat32Precision as setNative } from '@acc/native';
import { chooseForPrecision } from '../tuning/tuning.js';

const full = operator('aten::full');
const mm = operator('aten::mm');

/** Large enough that libtorch does not use its code for small matrices. */
const SIZE = 64;
/** Large enough that a GPU uses its tensor cores, which alone round to tf32. */
const DEVICE_SIZE = 1024;
/** Needs more than 10 fraction bits (tf32) or 7 (bfloat16). */
const FACTOR = 1 + 2 ** -12;

/** @throws AccError `ACC_PRECISION_UNSUPPORTED` if the device does not support the precision. */
export function setFloat32Precision(device: string, precision: Float32Precision | undefined): void {
  const backend = device === 'cpu' ? 'mkldnn' : 'cuda';
  chooseForPrecision(precision);
  if (precision === undefined) return setNative(backend, 'default');
  let isThere = true;
  try {
    setNative(backend, precision);
  } catch (error) {
    if (!isAccError(error, 'ACC_NATIVE_FAILED')) throw error;
    isThere = false;
  }
  // libtorch accepts the setting even if the device does not support it.
  if (isThere && (precision === 'ieee' || roundsFactors(device === 'cpu' ? SIZE : DEVICE_SIZE))) return;
  setNative(backend, 'default');
  chooseForPrecision(undefined);
  throw new AccError(
    'ACC_PRECISION_UNSUPPORTED',
    `The device ${device} cannot multiply float32 tensors in ${precision}.`,
    {
      help: "Leave amp.float32Precision out. 'tf32' needs an NVIDIA GPU of the Ampere generation or later. 'bf16' needs a CPU with bfloat16 instructions.",
      details: { device, precision },
    },
  );
}

function roundsFactors(size: number): boolean {
  using a = full([size, size], FACTOR, 'float32');
  using b = full([size, size], 1, 'float32');
  using sums = mm(a, b);
  return sums.read('float32')[0] !== size * FACTOR;
}
