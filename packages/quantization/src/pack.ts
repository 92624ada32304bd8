import { keep, util, Variable, type Tensor } from '@tensorflow/tfjs-core';
import { isPrepared } from '@acc/contract';
import {
  hasOwnValues,
  packedOf,
  packedTensor,
  replaceInitial,
  requireAcc,
  unpackedOf,
  type ChannelAxis,
} from '@acc/kernels';
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
  prepared,
} from './errors.js';
import { sub } from './formats/operators.js';
import { matrixOf } from './matrix-of.js';
import type { WeightSettings } from './options.js';
import type { PackedFacts } from './report.js';
import { asMatrix, Storage } from './storage.js';

/** A tensor that moves to another backend loses its packed data, so packed data do not tell. */
const quantized = new WeakSet<Variable>();

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
  if (quantized.has(variable) || packedOf(variable)) throw alreadyQuantized(name);
  if (dtype !== 'float32') throw notFloat(name, dtype);
  if (rank < 2 || size === 0) throw noMatrix(name, shape);
  if (isPrepared(variable)) throw prepared(name);
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

/** Packs the values of a variable, and freezes it. @throws AccError as {@link requireQuantizable}. */
export function pack(variable: Variable, settings: WeightSettings, axis: ChannelAxis): PackedFacts {
  requireQuantizable(variable, settings, axis);
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
  const stored = { shape: variable.shape, axis, dynamic: settings.activations === 'dynamic' };
  return { storage: new Storage(own, stored), signal: power(matrix), noise: power(errors) };
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
  quantized.add(variable);
  (variable as { trainable: boolean }).trainable = false;
  const ofAssign = patch(variable, 'assign', 'packed values', () => (values) => {
    if (!besideTape(() => areValuesOf(variable, values))) throw frozen(variable.name);
  });
  const ofDispose = patch(variable, 'dispose', 'packed values', (dispose) => () => {
    dispose.call(variable);
    ofAssign();
    ofDispose();
  });
}

/** Checkpoints and broadcasts give a variable the values that it has. */
function areValuesOf(variable: Variable, values: Tensor): boolean {
  const { shape, dtype } = values;
  if (dtype !== variable.dtype || !util.arraysEqual(shape, variable.shape)) return false;
  const backend = requireAcc();
  using given = unpackedOf(values);
  using own = unpackedOf(variable);
  using difference = sub(given ?? backend.native(values), own ?? backend.native(variable));
  return power(difference) === 0;
}
