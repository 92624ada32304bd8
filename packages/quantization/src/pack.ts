import { keep, util, Variable, type Tensor } from '@tensorflow/tfjs-core';
import { hasOwnValues, packedOf, packedTensor, replaceInitial, requireAcc } from '@acc/kernels';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import { besideTape, patch } from '@acc/tfjs-internals';
import {
  alreadyQuantized,
  frozen,
  groupDoesNotDivide,
  noMatrix,
  notFinite,
  notFloat,
  notHere,
} from './errors.js';
import { sub } from './formats/operators.js';
import { matrixOf } from './matrix-of.js';
import type { WeightSettings } from './options.js';
import type { PackedFacts } from './report.js';
import { asMatrix, Storage, type ChannelAxis } from './storage.js';

const abs = operator('aten::abs');
const max = operator('aten::max');
const square = operator('aten::square');
const sum = operator('aten::sum');

/** Checks a variable before anything changes. @throws AccError as {@link quantizeVariable} says. */
export function requireQuantizable(
  variable: Variable,
  { granularity }: WeightSettings,
  axis: ChannelAxis,
): void {
  const { name, dtype, shape, size, rank } = variable;
  const backend = requireAcc();
  if (packedOf(variable)) throw alreadyQuantized(name);
  if (dtype !== 'float32') throw notFloat(name, dtype);
  if (rank < 2 || size === 0) throw noMatrix(name, shape);
  if (!hasOwnValues(variable)) throw notHere(name);
  const columns = size / (axis === 'first' ? shape[0]! : shape.at(-1)!);
  if (typeof granularity === 'object' && columns % granularity.group !== 0) {
    throw groupDoesNotDivide(name, columns, granularity.group);
  }
  if (!isFinite(backend.native(variable))) throw notFinite(name);
}

function isFinite(values: NativeTensor): boolean {
  using magnitudes = abs(values);
  using largest = max(magnitudes);
  return Number.isFinite((largest.read('float32') as Float32Array)[0]);
}

/** Packs the values of a variable that {@link requireQuantizable} has checked, and freezes it. */
export function pack(variable: Variable, settings: WeightSettings, axis: ChannelAxis): PackedFacts {
  const { storage, signal, noise } = packed(variable, settings, axis);
  besideTape(() => takePacked(variable, packedTensor(storage)));
  freeze(variable);
  return { size: variable.size, bytes: storage.bytes, signal, noise };
}

function packed(variable: Variable, settings: WeightSettings, axis: ChannelAxis) {
  using matrix = asMatrix(requireAcc().native(variable), axis);
  const own = matrixOf(matrix, settings, axis);
  using values = own.values();
  using errors = sub(matrix, values);
  return { storage: new Storage(own, variable.shape, axis), signal: power(matrix), noise: power(errors) };
}

function power(x: NativeTensor): number {
  using squares = square(x);
  using total = sum(squares, 'float64');
  return (total.read() as Float64Array)[0]!;
}

function takePacked(variable: Variable, tensor: Tensor): void {
  replaceInitial(variable, () => Variable.prototype.assign.call(variable, keep(tensor)));
  tensor.dispose();
}

function freeze(variable: Variable): void {
  (variable as { trainable: boolean }).trainable = false;
  patch(variable, 'assign', 'packed values', () => (values) => {
    if (!besideTape(() => areValuesOf(variable, values))) throw frozen(variable.name);
  });
}

/** Checkpoints and broadcasts give a variable the values that it has. */
function areValuesOf(variable: Variable, values: Tensor): boolean {
  const { shape, dtype } = values;
  if (dtype !== variable.dtype || !util.arraysEqual(shape, variable.shape)) return false;
  const backend = requireAcc();
  using difference = sub(backend.native(values), backend.native(variable));
  return power(difference) === 0;
}
