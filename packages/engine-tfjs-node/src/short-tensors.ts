import type { TensorInfo } from '@tensorflow/tfjs-core';
import { replaceForGood } from '@acc/tfjs-internals';
import { DataTypes, isShort, type Attribute, type Result, type TensorflowBackend } from './backend.js';
import type { Operators } from './operators.js';

/**
 * Operators that compute on 16-bit tensors, and whose element type is the attribute `T`. On a CPU
 * with bfloat16 instructions, products and convolutions take about half of the time of float32, and
 * the others as long or less. Sums, divisions and functions such as the exponential are slower in
 * 16 bits than with a conversion to float32, and less precise, so they are not among them.
 */
const IN_16_BITS: ReadonlySet<string> = new Set([
  ...['MatMul', 'BatchMatMulV2', 'Conv2D', 'Conv2DBackpropFilter', 'Conv2DBackpropInput'],
  ...['Add', 'AddV2', 'Sub', 'Mul', 'Neg', 'Relu', 'BiasAdd'],
  ...['Reshape', 'Transpose', 'Slice', 'ConcatV2', 'SplitV', 'ExpandDims', 'Identity'],
]);

/**
 * Makes the kernels of the backend accept tensors of 16-bit floats, until the process ends. Kernels
 * of tfjs-node give the element type of tfjs, `float32`, to TensorFlow. Here it becomes the type of
 * the tensors, or the tensors become float32, for operators that are not in {@link IN_16_BITS} and
 * for a mix of types. Tensors without 16-bit floats pass unchanged.
 */
export function acceptShortTensors(operators: Operators): void {
  const { backend } = operators;
  replaceForGood(backend, 'executeSingleOutput', (own) => (name, attributes, inputs) => {
    if (!inputs.some((x) => isShortTensor(backend, x))) return own.call(backend, name, attributes, inputs);
    return execute(operators, { name, attributes, inputs }, 1)[0]!;
  });
  replaceForGood(backend, 'executeMultipleOutputs', (own) => (name, attributes, inputs, results) => {
    if (!inputs.some((x) => isShortTensor(backend, x))) {
      return own.call(backend, name, attributes, inputs, results);
    }
    return execute(operators, { name, attributes, inputs }, results);
  });
  replaceForGood(backend, 'readSync', (own) => (dataId) => {
    const entry = backend.tensorMap.has(dataId) ? backend.tensorMap.get(dataId) : undefined;
    if (!entry || !isShort(entry.dtype)) return own.call(backend, dataId);
    return operators.freeing((keep) => {
      const wide = keep(operators.cast(entry.id, entry.dtype, DataTypes.float32).id);
      return operators.binding.tensorDataSync(wide);
    });
  });
}

interface Call {
  readonly name: string;
  readonly attributes: readonly Attribute[];
  readonly inputs: readonly TensorInfo[];
}

function execute(operators: Operators, call: Call, results: number) {
  const { backend, binding } = operators;
  const ids = backend.getInputTensorIds(call.inputs);
  const dtype = commonShort(backend, call);
  if (dtype !== undefined) {
    const attributes = call.attributes.map((each) => (isFloats(each) ? operators.type('T', dtype) : each));
    return wrapped(operators, binding.executeOp(call.name, attributes, ids, results));
  }
  return operators.freeing((keep) => {
    const wide = call.inputs.map((x, i) => {
      if (!isShortTensor(backend, x)) return ids[i]!;
      return keep(operators.cast(ids[i]!, operators.entryOf(x).dtype, DataTypes.float32).id);
    });
    return wrapped(operators, binding.executeOp(call.name, call.attributes, wide, results));
  });
}

const wrapped = (operators: Operators, results: readonly Result[]) =>
  results.map((result) =>
    isShort(result.dtype)
      ? operators.tensorOf(result, 'float32')
      : operators.backend.createOutputTensor(result),
  );

const isFloats = ({ name, value }: Attribute): boolean => name === 'T' && value === DataTypes.float32;

/** The 16-bit type of all floats of the call, if the operator computes in it. */
function commonShort(backend: TensorflowBackend, { name, inputs }: Call): number | undefined {
  if (!IN_16_BITS.has(name)) return undefined;
  let common: number | undefined;
  for (const x of inputs) {
    if (x.dtype !== 'float32') continue;
    const { dtype } = backend.tensorMap.get(x.dataId);
    if (common !== undefined && dtype !== common) return undefined;
    common = dtype;
  }
  return common;
}

/** Inputs of 64-bit integers have no data id. */
function isShortTensor(backend: TensorflowBackend, { dtype, dataId }: TensorInfo): boolean {
  return (
    dtype === 'float32' &&
    (dataId as object | undefined) !== undefined &&
    isShort(backend.tensorMap.get(dataId).dtype)
  );
}
