import {
  getGradient,
  getKernel,
  registerGradient,
  registerKernel,
  Variable,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import { AccError, type NativeDtype, type PrecisionLayer } from '@acc/contract';
import { castDtype, castDtypeGradient } from '@acc/kernels';
import { DataTypes, type Entry, type TensorflowBackend } from './backend.js';
import type { Operators } from './operators.js';

/** TensorFlow's numbers of the floating-point types behind tfjs's `float32`. */
const FLOATS: Readonly<Partial<Record<NativeDtype, number>>> = {
  float32: DataTypes.float32,
  bfloat16: DataTypes.bfloat16,
  float16: DataTypes.float16,
};

const LABELS = { float32: 'float32', int32: 'int32', bool: 'bool', complex64: 'complex64' } as const;

/** Mixed precision in bfloat16; on a GPU in float16, too. */
export function precisionOn(operators: Operators): PrecisionLayer {
  const { backend } = operators;
  registerCast(operators);
  return {
    dtypeOf: (x) => dtypeOf(backend, x),
    cast(x, dtype) {
      const problem = lowerProblem(backend, dtype);
      if (problem !== undefined) throw unsupported(problem);
      return castDtype(x, dtype, dtypeOf(backend, x)!, x instanceof Variable);
    },
    lowerProblem: (dtype) => lowerProblem(backend, dtype),
    // Kernels of TensorFlow save the tensors that they computed with.
    keepIn() {},
    setFloat32Precision(precision) {
      if (precision === undefined || precision === 'ieee') return;
      throw unsupported(`TensorFlow's binding has no setting to multiply float32 tensors in ${precision}.`);
    },
    float8Problem: () => "tfjs-node's binding has no product of 8-bit floats",
  };
}

function unsupported(problem: string): AccError {
  return new AccError('ACC_PRECISION_UNSUPPORTED', problem, {
    help: "Use mixedPrecision 'bf16' or 'no' on tfjs-node, or engine 'acc'.",
  });
}

function lowerProblem({ isUsingGpuDevice }: TensorflowBackend, dtype: NativeDtype): string | undefined {
  if (dtype !== 'float16' || isUsingGpuDevice) return undefined;
  return 'On a CPU, TensorFlow multiplies float16 matrices several hundred times slower than float32.';
}

function dtypeOf({ tensorMap }: TensorflowBackend, x: TensorInfo): NativeDtype | undefined {
  if (x.dtype === 'string') return undefined;
  const dtype = tensorMap.has(x.dataId) ? tensorMap.get(x.dataId).dtype : undefined;
  if (dtype === DataTypes.bfloat16) return 'bfloat16';
  return dtype === DataTypes.float16 ? 'float16' : LABELS[x.dtype];
}

interface CastAttrs {
  readonly to: NativeDtype;
  /** Whether to keep the result until the weight changes. */
  readonly isWeight: boolean;
}

const known = new WeakMap<object, Operators>();

/** The kernel `AccCast` of this backend. Its gradient is that of the backend `acc`. */
function registerCast(operators: Operators): void {
  known.set(operators.backend, operators);
  const { kernelName } = castDtypeGradient;
  const backendName = 'tensorflow';
  if (!getGradient(kernelName)) registerGradient(castDtypeGradient);
  if (getKernel(kernelName, backendName)) return;
  registerKernel({
    kernelName,
    backendName,
    kernelFunc({ inputs, attrs, backend }) {
      const { to, isWeight } = attrs as unknown as CastAttrs;
      return castKernel(known.get(backend as object)!, inputs['x'] as TensorInfo, { to, isWeight });
    },
  });
}

function castKernel(operators: Operators, x: TensorInfo, { to, isWeight }: CastAttrs): TensorInfo {
  const dtype = FLOATS[to]!;
  // Uploads values that are not in TensorFlow yet.
  operators.idOf(x);
  const entry = operators.entryOf(x);
  const id = isWeight ? convertedWeight(operators, entry, dtype) : converted(operators, entry, dtype);
  const shape = [...x.shape];
  return { dataId: operators.hold({ id, dtype, shape }), shape, dtype: 'float32' };
}

/** A tensor of the element type `dtype`, which the caller deletes. */
function converted(operators: Operators, { id, dtype: from }: Entry, dtype: number): number {
  return from === dtype ? operators.alias(id, dtype) : operators.cast(id, from, dtype).id;
}

/** As {@link converted}, but elements are converted once until the weight changes. */
function convertedWeight(operators: Operators, entry: Entry, dtype: number): number {
  if (entry.dtype === dtype || entry.release) return converted(operators, entry, dtype);
  const before = entry.converted;
  if (before?.of !== entry.id || before.dtype !== dtype) {
    entry.converted = { of: entry.id, dtype, id: converted(operators, entry, dtype) };
    if (before) operators.delete(before.id);
  }
  return operators.alias(entry.converted!.id, dtype);
}
