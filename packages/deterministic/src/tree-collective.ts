import {
  add,
  concat,
  mul,
  reshape,
  slice,
  split,
  tidy,
  unstack,
  type Tensor,
  type TensorContainer,
} from '@tensorflow/tfjs-core';
import {
  afterAll,
  allPending,
  type AllReduceOptions,
  type CoalescedOptions,
  type Collective,
  type Pending,
  type ReduceOp,
  type ShardVerbOptions,
} from '@acc/contract';

/** Up to so many elements a rank fetches all that the others have, in one call in place of two. */
const FEW_ELEMENTS = 4096;

/**
 * The collective with sums in pairs of neighbouring ranks, pairs of those, and so on: they go on where the sums of a rank's own
 * pieces end. Of tensors in pieces it takes the whole. The number of ranks is a power of two.
 *
 * @param whole Gives a tensor's values in one that is whole; the caller's.
 */
export function treeCollective(given: Collective, whole: (x: Tensor) => Tensor): Collective {
  const verbs = new TreeVerbs(given, whole);
  const members = new Map<PropertyKey, unknown>();
  for (const name of [
    'allReduce',
    'reduce',
    'reduceScatter',
    'allReduceCoalesced',
    'reduceScatterCoalesced',
  ] as const) {
    const start = verbs[`${name}Async`].bind(verbs) as (...args: unknown[]) => Pending<unknown>;
    members.set(`${name}Async`, start);
    members.set(name, (...args: unknown[]) => start(...args).wait());
  }
  return new Proxy(given, {
    get(target, key) {
      if (members.has(key)) return members.get(key);
      const member = Reflect.get(target, key) as unknown;
      if (typeof member !== 'function') return member;
      const bound = member.bind(target) as unknown;
      members.set(key, bound);
      return bound;
    },
  });
}

/** The verbs that sum. */
class TreeVerbs {
  constructor(
    private readonly given: Collective,
    private readonly whole: (x: Tensor) => Tensor,
  ) {}

  allReduceAsync(x: Tensor, op: ReduceOp = 'sum', options: AllReduceOptions = {}): Pending<Tensor> {
    const { given } = this;
    const { donate = false } = options;
    const own = this.#take(x, donate);
    if (this.#hasOneOrder(op)) {
      const pending = given.allReduceAsync(own, op, options);
      if (!donate) own.dispose();
      return pending;
    }
    const combine = op === 'product' ? mul : add;
    const pending = own.size > FEW_ELEMENTS ? inSlices(own, combine, given) : inOneCall(own, combine, given);
    return op === 'mean' ? then(pending, (sum) => mul(sum, 1 / given.size)) : pending;
  }

  allReduceCoalescedAsync(
    xs: readonly Tensor[],
    op: ReduceOp = 'sum',
    options: CoalescedOptions = {},
  ): Pending<Tensor[]> {
    const { donate = false } = options;
    const own = xs.map((x) => this.#take(x, donate));
    if (this.#hasOneOrder(op)) {
      const pending = this.given.allReduceCoalescedAsync(own, op, options);
      if (!donate) for (const x of own) x.dispose();
      return pending;
    }
    const isOneDtype = own.every(({ dtype }) => dtype === own[0]!.dtype);
    return isOneDtype && own.length > 1
      ? asOne(own, (flat) => this.allReduceAsync(flat, op, { donate: true }))
      : allPending(own.map((x) => this.allReduceAsync(x, op, { donate: true })));
  }

  reduceAsync(x: Tensor, op?: ReduceOp, toRank = 0): Pending<Tensor | null> {
    return then(this.allReduceAsync(x, op), (all) => (this.given.rank === toRank ? all.clone() : null));
  }

  /** `into` is let go: the shard is cut from a sum. */
  reduceScatterAsync(x: Tensor, op?: ReduceOp, options: ShardVerbOptions<Tensor> = {}): Pending<Tensor> {
    const { rank, size } = this.given;
    const { into, ...others } = options;
    into?.dispose();
    return then(this.allReduceAsync(x, op, others), (all) => {
      const rows = all.shape[0]! / size;
      return slice(all, rank * rows, rows);
    });
  }

  reduceScatterCoalescedAsync(
    xs: readonly Tensor[],
    op?: ReduceOp,
    { into, donate, ...others }: ShardVerbOptions<readonly Tensor[]> = {},
  ): Pending<Tensor[]> {
    const pending = xs.map((x) => this.reduceScatterAsync(x, op, others));
    for (const given of [...(into ?? []), ...(donate ? xs : [])]) given.dispose();
    return allPending(pending);
  }

  /** The caller's values, whole. Where they are given away nothing else is left of them. */
  #take(x: Tensor, donate: boolean): Tensor {
    const own = this.whole(x);
    if (donate) x.dispose();
    return own;
  }

  /** Of two ranks there is one sum. */
  #hasOneOrder(op: ReduceOp): boolean {
    return this.given.size <= 2 || op === 'max' || op === 'min';
  }
}

/** Tensors of one dtype one after the other in one. Takes them over. */
function asOne(xs: readonly Tensor[], reduce: (flat: Tensor) => Pending<Tensor>): Pending<Tensor[]> {
  const flat = tidy(() => concat(xs.map((x) => reshape(x, [-1]))));
  const sizes = xs.map(({ size }) => size);
  const shapes = xs.map(({ shape }) => shape);
  for (const x of xs) x.dispose();
  return then(reduce(flat), (sum) => split(sum, sizes).map((piece, i) => reshape(piece, shapes[i]!)));
}

type Combine = (a: Tensor, b: Tensor) => Tensor;

/** Every rank fetches all. Takes `own` over. */
function inOneCall(own: Tensor, combine: Combine, given: Collective): Pending<Tensor> {
  const row = reshape(own, [1, -1]);
  const all = given.allGatherAsync(row);
  const { shape } = own;
  row.dispose();
  own.dispose();
  return then(all, (rows) => reshape(inPairs(unstack(rows), combine), shape));
}

/** Every rank combines its own slice of all ranks' tensors, and gives it to all. Takes `own` over. */
function inSlices(own: Tensor, combine: Combine, given: Collective): Pending<Tensor> {
  const { rank, size } = given;
  const lengths = Array.from(
    { length: size },
    (_, i) => Math.floor(((i + 1) * own.size) / size) - Math.floor((i * own.size) / size),
  );
  const flat = reshape(own, [-1]);
  const slices = given.allToAllAsync(flat, lengths);
  const { shape } = own;
  flat.dispose();
  own.dispose();
  return then(slices, (joined) => {
    const ofRanks = split(joined, new Array<number>(size).fill(lengths[rank]!));
    return reshape(given.allGather(inPairs(ofRanks, combine)), shape);
  });
}

function inPairs(terms: readonly Tensor[], combine: Combine): Tensor {
  let level = terms;
  while (level.length > 1) {
    const below = level;
    level = Array.from({ length: below.length / 2 }, (_, i) => combine(below[2 * i]!, below[2 * i + 1]!));
  }
  return level[0]!;
}

/** What becomes of a result, which is disposed. */
function then<T extends Tensor | Tensor[] | null>(
  pending: Pending<Tensor>,
  next: (result: Tensor) => T,
): Pending<T> {
  return afterAll([pending], (given) => {
    const result = tidy(() => next(given!) as TensorContainer) as T;
    given!.dispose();
    return result;
  });
}
