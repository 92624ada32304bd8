import { dispose, scalar, type Tensor } from '@tensorflow/tfjs-core';
import type { ListMath, NativeTensor } from '@acc/contract';
import { MemoryFlag, memoryFlags, operator, operatorInPlace, operatorWithResults } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { addingTo } from '../families/added-product.js';
import { add_, scale, scale_, Temporaries, type TensorList } from './foreach.js';
import { isVariable, MAX_LIST } from './list-members.js';

type Handle = ReturnType<typeof castTo>;

const castTo = operator('aten::_to_copy');
const stack = operator('aten::stack');
const vectorNorm = operator('aten::linalg_vector_norm');
const norms = operatorWithResults('aten::_foreach_norm.Scalar');
const add = operatorWithResults('aten::_foreach_add.List');
const scaleBy = operatorWithResults('aten::_foreach_mul.Tensor');
const scaleBy_ = operatorInPlace('aten::_foreach_mul_.Tensor');
const atLeast = operatorWithResults('aten::_foreach_clamp_min.Scalar');
const atLeast_ = operatorInPlace('aten::_foreach_clamp_min_.Scalar');
const atMost_ = operatorInPlace('aten::_foreach_clamp_max_.Scalar');

/** Sets its second argument to 1 if a value is not finite. */
const unscale_ = operatorInPlace('aten::_amp_foreach_non_finite_check_and_unscale_');
const full = operator('aten::full');
const clone = operator('aten::clone');

const OWN_BLOCK = MemoryFlag.contiguous | MemoryFlag.exclusive;

/**
 * List math with libtorch's operators on lists, in place if nothing else shares the memory.
 *
 * @param isRecorded Whether native calls are being recorded. A replay cannot ask who shares memory,
 * so calls that are recorded make new tensors.
 */
export function nativeLists(backend: AccBackend, isRecorded: () => boolean): ListMath {
  const owner: Owner = { backend, isRecorded };
  const natives = (list: readonly Tensor[]) => list.map((x) => backend.native(x));
  return {
    add: (list, others, factor, isOwn = false) => {
      const changeOf = (part: readonly Tensor[], start: number): Change => {
        const second = natives(others.slice(start, start + part.length));
        return {
          inPlace: (targets) => add_(targets, second, factor),
          anew: (sources) => add(sources, second, factor)[0] as Handle[],
        };
      };
      return changed(owner, list, changeOf, isOwn);
    },
    addProduct: (sum, product) => addingTo(sum, product),
    scale: (list, factor) =>
      changed(owner, list, () =>
        typeof factor === 'number'
          ? {
              inPlace: (targets) => scale_(targets, factor),
              anew: (sources) => scale(sources, factor).list as Handle[],
            }
          : {
              inPlace: (targets) => scaleBy_(targets, backend.native(factor)),
              anew: (sources) => scaleBy(sources, backend.native(factor))[0] as Handle[],
            },
      ),
    unscale(list, factor) {
      using found = full([1], 0, 'float32');
      using scale = full([1], factor, 'float32');
      const scaled = changed(owner, list, () => ({
        inPlace: (targets) => unscale_(targets, found, scale),
        anew: (sources) => {
          const results = sources.map((source) => clone(source));
          unscale_(results, found, scale);
          return results;
        },
      }));
      return { list: scaled, isFinite: found.read()[0] === 0 };
    },
    clamp: (list, min, max) =>
      changed(owner, list, () => ({
        inPlace: (targets) => {
          atLeast_(targets, min);
          atMost_(targets, max);
        },
        anew: (sources) => {
          const results = atLeast(sources, min)[0] as Handle[];
          atMost_(results, max);
          return results;
        },
      })),
    norm: (list) => (list.length === 0 ? scalar(0) : backend.tensorOf(normOf(natives(list)), 'float32')),
  };
}

/** One operation on a part of a list, in two forms. */
interface Change {
  inPlace(targets: TensorList): void;
  /** Returns new tensors, which the caller owns. */
  anew(sources: TensorList): Handle[];
}

interface Owner {
  readonly backend: AccBackend;
  readonly isRecorded: () => boolean;
}

function changed(
  { backend, isRecorded }: Owner,
  list: readonly Tensor[],
  changeOf: (part: readonly Tensor[], start: number) => Change,
  isOwn = false,
): Tensor[] {
  const results: Tensor[] = [];
  for (let start = 0; start < list.length; start += MAX_LIST) {
    const part = list.slice(start, start + MAX_LIST);
    const change = changeOf(part, start);
    const targets = isRecorded() ? isOwn && part.map((x) => backend.native(x)) : writable(backend, part);
    if (targets) {
      change.inPlace(targets);
      results.push(...part);
    } else {
      using sources = asFloats(part.map((x) => backend.native(x)));
      results.push(...change.anew(sources.list).map((native) => backend.tensorOf(native, 'float32')));
      dispose([...part]);
    }
  }
  return results;
}

/**
 * The native tensors of the whole list for writing in place. Undefined if anything else shares the
 * memory of one of them.
 */
function writable(backend: AccBackend, list: readonly Tensor[]): NativeTensor[] | undefined {
  const targets: NativeTensor[] = [];
  for (const x of list) {
    const target = isVariable(x) ? undefined : backend.nativeToWrite(x);
    if (target?.dtype !== 'float32') return undefined;
    targets.push(target);
  }
  return memoryFlags(targets).every((flags) => flags === OWN_BLOCK) ? targets : undefined;
}

/**
 * Converts to float32: a tensor that tfjs sees as float32 may hold 16-bit floats, and sums must not
 * be rounded to their precision.
 */
function asFloats(list: TensorList): Temporaries & Disposable {
  const created: NativeTensor[] = [];
  const floats = list.map((x) => {
    if (x.dtype === 'float32') return x;
    const copy = castTo(x, 'float32');
    created.push(copy);
    return copy;
  });
  return { list: floats, [Symbol.dispose]: () => created.forEach((x) => x.dispose()) };
}

function normOf(list: TensorList): Handle {
  const parts: NativeTensor[] = [];
  for (let start = 0; start < list.length; start += MAX_LIST) {
    using scalars = new Temporaries(norms(list.slice(start, start + MAX_LIST), 2, 'float32')[0] as Handle[]);
    using vector = stack(scalars.list, 0);
    parts.push(vectorNorm(vector));
  }
  if (parts.length === 1) return parts[0] as Handle;
  using scalars = new Temporaries(parts);
  using vector = stack(scalars.list, 0);
  return vectorNorm(vector);
}
