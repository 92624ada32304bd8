import { AccError, isAccError, type Float32Precision } from '@acc/contract';
import { operator, setFloat32Precision as setNative } from '@acc/native';

const full = operator('aten::full');
const mm = operator('aten::mm');

/** Large enough that libtorch takes no other way for small matrices. */
const SIZE = 64;
/** Neither 10 nor 7 bits after the point hold it. */
const FACTOR = 1 + 2 ** -12;

/** @throws AccError `ACC_PRECISION_UNSUPPORTED` for one that the device does not have. */
export function setFloat32Precision(device: string, precision: Float32Precision | undefined): void {
  const backend = device === 'cpu' ? 'mkldnn' : 'cuda';
  if (precision === undefined) return setNative(backend, 'default');
  let isThere = true;
  try {
    setNative(backend, precision);
  } catch (error) {
    if (!isAccError(error, 'ACC_NATIVE_FAILED')) throw error;
    isThere = false;
  }
  // libtorch takes the setting without telling whether the device has it.
  if (isThere && (precision === 'ieee' || roundsFactors())) return;
  setNative(backend, 'default');
  throw new AccError(
    'ACC_PRECISION_UNSUPPORTED',
    `${device} has no products of float32 tensors in ${precision}.`,
    {
      help: "Leave amp.float32Precision out; 'tf32' is for NVIDIA GPUs from Ampere on, 'bf16' for CPUs with bfloat16 instructions.",
      details: { device, precision },
    },
  );
}

function roundsFactors(): boolean {
  using a = full([SIZE, SIZE], FACTOR, 'float32');
  using b = full([SIZE, SIZE], 1, 'float32');
  using sums = mm(a, b);
  return sums.read('float32')[0] !== SIZE * FACTOR;
}
