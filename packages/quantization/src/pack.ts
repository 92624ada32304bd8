import { util, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import { isPrepared } from '@acc/contract';
import {
  assignPacked,
  frozenPacked,
  hasOwnValues,
  packedOf,
  packedTensor,
  requireAcc,
  unpackedOf,
  type ChannelAxis,
} from '@acc/kernels';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import { besideTape, patch } from '@acc/tfjs-internals';
import {
  alreadyQuantized,
  groupDoesNotDivide,
  noMatrix,
  notFinite,
  notFloat,
  notHere,
  prepared,
} from './errors.js';
import { allFinite } from './formats/finite.js';
import { div, mul, sub } from './formats/operators.js';
import type { InputRange, InputScale, PackedMatrix } from './formats/packed-matrix.js';
import { matrixOf } from './matrix-of.js';
import type { WeightSettings } from './options.js';
import type { PackedFacts } from './report.js';
import { asMatrix, Storage, type StoredVariable } from './storage.js';

/** A tensor that moves to another backend loses its packed data, so packed data do not tell. */
const quantized = new WeakSet<Variable>();

const cat = operator('aten::cat');
const narrow = operator('aten::narrow');
const square = operator('aten::square');
const sum = operator('aten::sum');

/** Checks a variable before anything changes. @throws AccError as {@link quantizeVariable} says. */
export function requireQuantizable(variable: Variable, settings: WeightSettings, axis: ChannelAxis): void {
  requireShape(variable, settings, axis);
  if (!hasOwnValues(variable)) throw notHere(variable.name);
  if (!allFinite(requireAcc().native(variable))) throw notFinite(variable.name);
}

/** The checks that need no values. */
export function requireShape(variable: Variable, { granularity }: WeightSettings, axis: ChannelAxis): void {
  const { name, dtype, shape, size, rank } = variable;
  requireAcc();
  if (quantized.has(variable) || packedOf(variable)) throw alreadyQuantized(name);
  if (dtype !== 'float32') throw notFloat(name, dtype);
  if (rank < 2 || size === 0) throw noMatrix(name, shape);
  if (isPrepared(variable)) throw prepared(name);
  const columns = size / (axis === 'first' ? shape[0]! : shape.at(-1)!);
  if (typeof granularity === 'object' && columns % granularity.group !== 0) {
    throw groupDoesNotDivide(name, columns, granularity.group);
  }
}

/** How a weight differs from what its settings make of its values alone. */
export interface PackedForm {
  /** float32 `[channels or 1, groups, 1]`. Undefined: those of the algorithm. It is borrowed. */
  readonly scales?: NativeTensor | undefined;
  /** Whether products compute in float32, or with exact sums of whole numbers. */
  readonly exact?: boolean;
  /** By which products round their input. */
  readonly range?: InputRange | undefined;
  /** With which products multiply the columns of their input. */
  readonly inputScale?: InputScale | undefined;
  /** The same numbers, float32 `[others]`, if they are known: the columns are divided by them before. Borrowed. */
  readonly factors?: NativeTensor | undefined;
  /** Packs the matrix `[channels, others]`, which it borrows, in place of the algorithm. */
  readonly pack?: ((matrix: NativeTensor) => PackedMatrix) | undefined;
}

/**
 * Packs the values of a variable, and freezes it.
 *
 * @throws AccError as {@link requireQuantizable}.
 */
export function pack(
  variable: Variable,
  settings: WeightSettings,
  axis: ChannelAxis,
  form: PackedForm = {},
): PackedFacts {
  requireQuantizable(variable, settings, axis);
  const { storage, signal, noise } = packed(variable, settings, axis, form);
  besideTape(() => assignPacked(variable, packedTensor(storage)));
  freeze(variable);
  return { size: variable.size, bytes: storage.bytes, signal, noise };
}

/** The facts of a variable as it would be packed. It stays as it is. */
export function measure(variable: Variable, settings: WeightSettings, axis: ChannelAxis): PackedFacts {
  const { storage, signal, noise } = packed(variable, settings, axis);
  const { bytes } = storage;
  storage.records.release();
  return { size: variable.size, bytes, signal, noise };
}

/** Elements that are packed at a time. Beside them, packing needs memory for some ten times as many bytes. */
const CHUNK_ELEMENTS = 1024 * 1024;

interface Packed {
  readonly storage: Storage;
  readonly signal: number;
  readonly noise: number;
}

function packed(
  variable: Variable,
  settings: WeightSettings,
  axis: ChannelAxis,
  form: PackedForm = {},
): Packed {
  const values = requireAcc().native(variable);
  const channels = axis === 'first' ? variable.shape[0]! : variable.shape.at(-1)!;
  const { exact = false, range, inputScale } = form;
  const dynamic = settings.activations === 'dynamic';
  const stored = { shape: variable.shape, axis, dynamic, exact, range, inputScale };
  // The numbers of a row depend on other rows where all have one scale, and where HQQ ends by their mean error.
  const isByRow =
    !form.scales && !form.pack && settings.granularity !== 'tensor' && settings.algorithm === 'nearest';
  const count = isByRow ? Math.max(1, Math.floor((CHUNK_ELEMENTS * channels) / variable.size)) : channels;
  if (count >= channels) {
    const { matrix, ...powers } = packedRows(values, settings, { axis, form });
    return { storage: new Storage(matrix, stored), ...powers };
  }
  const records: NativeTensor[] = [];
  const sums = { signal: 0, noise: 0 };
  try {
    for (let from = 0; from < channels; from += count) {
      using some = narrow(values, axis === 'first' ? 0 : -1, from, Math.min(count, channels - from));
      const { matrix, signal, noise } = packedRows(some, settings, { axis, form });
      try {
        records.push(matrix.records());
      } finally {
        for (const tensor of matrix.tensors) tensor.dispose();
      }
      sums.signal += signal;
      sums.noise += noise;
    }
    return { storage: joined(records, settings, stored), ...sums };
  } finally {
    for (const each of records) each.dispose();
  }
}

function joined(
  records: readonly NativeTensor[],
  { weights: dtype, granularity }: WeightSettings,
  stored: StoredVariable,
): Storage {
  using all = cat(records, 0);
  return Storage.from(all, { dtype, granularity, axis: stored.axis }, stored);
}

function packedRows(
  values: NativeTensor,
  settings: WeightSettings,
  { axis, form }: { readonly axis: ChannelAxis; readonly form: PackedForm },
) {
  using rows = asMatrix(values, axis);
  const { factors } = form;
  using scaled = factors ? div(rows, factors) : rows.alias();
  const matrix = form.pack?.(scaled) ?? matrixOf(scaled, settings, { axis, ...form });
  using own = matrix.values();
  using unpacked = factors ? mul(own, factors) : own.alias();
  using errors = sub(rows, unpacked);
  return { matrix, signal: power(rows), noise: power(errors) };
}

function power(x: NativeTensor): number {
  using squares = square(x);
  using total = sum(squares, 'float64');
  return (total.read() as Float64Array)[0]!;
}

function freeze(variable: Variable): void {
  quantized.add(variable);
  (variable as { trainable: boolean }).trainable = false;
  const ofAssign = patch(variable, 'assign', 'packed values', () => (values) => {
    if (!besideTape(() => areValuesOf(variable, values))) throw frozenPacked(variable);
  });
  const ofDispose = patch(variable, 'dispose', 'packed values', (dispose) => () => {
    dispose.call(variable);
    ofAssign();
    ofDispose();
  });
}

/** A model that is loaded or copied may assign each variable the values that it has. */
function areValuesOf(variable: Variable, values: Tensor): boolean {
  const { shape, dtype } = values;
  if (dtype !== variable.dtype || !util.arraysEqual(shape, variable.shape)) return false;
  const backend = requireAcc();
  using given = unpackedOf(values);
  using own = unpackedOf(variable);
  using difference = sub(given ?? backend.native(values), own ?? backend.native(variable));
  return power(difference) === 0;
}
