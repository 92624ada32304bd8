import { engine, slice, tidy, util, type Tensor } from '@tensorflow/tfjs-core';
import type { Defer } from '@acc/contract';
import { DataTypes, type Entry, type Result } from './backend.js';
import type { Operators } from './operators.js';

/**
 * Deferred tensors: the entry of a tensor loads its values when a kernel or a read asks for its
 * number. Values share the memory of the tensors that they are filled with.
 */
export function deferOn(operators: Operators): Defer {
  const { backend } = operators;
  return ({ shape, dtype, held }, load) => {
    const own = held && takeOver(operators, held);
    const entry = new DeferredEntry(operators, { shape, load, own: own?.id });
    const dataId = {};
    backend.tensorMap.set(dataId, entry);
    return {
      tensor: engine().makeTensorFromTensorInfo({ dataId, shape: [...shape], dtype }, backend),
      get isFilled() {
        return entry.isFilled;
      },
      get holders() {
        return backend.tensorMap.has(dataId) ? entry.refCount : 0;
      },
      fill: (values, begin) => tidy(() => entry.fill(partOf(values, shape, begin))),
      release: () => entry.empty(),
      held() {
        return own && operators.tensorOf({ ...own, id: operators.alias(own.id, own.dtype) }, dtype);
      },
    };
  };
}

/** As many elements as `shape` has, from `begin` on. */
function partOf(values: Tensor, shape: readonly number[], begin = 0): Tensor {
  const size = util.sizeFromShape([...shape]);
  return size === values.size ? values : slice(values, [begin], [size]);
}

/** The memory of `held`, which is disposed. */
function takeOver(operators: Operators, held: Tensor): Result {
  const { dtype } = operators.entryOf(held);
  const id = operators.alias(operators.idOf(held), dtype);
  held.dispose();
  return { id, dtype, shape: [...held.shape] };
}

interface Source {
  readonly shape: readonly number[];
  readonly load: () => void;
  /** A tensor that lives as long as the entry. */
  readonly own: number | undefined;
}

class DeferredEntry implements Entry {
  readonly values = null;
  refCount = 1;
  #dtype: number = DataTypes.float32;
  #id: number | undefined;

  constructor(
    private readonly operators: Operators,
    private readonly source: Source,
  ) {}

  get shape(): readonly number[] {
    return this.source.shape;
  }

  get isFilled(): boolean {
    return this.#id !== undefined;
  }

  get id(): number {
    if (this.#id === undefined) this.source.load();
    return this.#id!;
  }

  /** That of the values, so they are loaded: they may be in 16 bits. */
  get dtype(): number {
    if (this.#id === undefined) this.source.load();
    return this.#dtype;
  }

  fill(values: Tensor): void {
    const { operators } = this;
    const id = operators.idOf(values);
    this.empty();
    this.#dtype = operators.entryOf(values).dtype;
    this.#id = operators.reshape(id, this.#dtype, this.shape);
  }

  empty(): void {
    if (this.#id !== undefined) this.operators.delete(this.#id);
    this.#id = undefined;
  }

  release(): void {
    this.empty();
    if (this.source.own !== undefined) this.operators.delete(this.source.own);
  }
}
