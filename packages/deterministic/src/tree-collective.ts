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
  type FlatOptions,
  type Pending,
  type ReduceOp,
  type ShardVerbOptions,
} from '@acc/contract';

/**
 * Up to this many elements, a rank fetches the tensors of all others, which takes one collective
 * instead of two.
 */
const FEW_ELEMENTS = 4096;

/**
 * A collective that sums over ranks in pairs of neighbours, pairs of these pairs, and so on. It
 * continues the tree of the sums of a rank's own shards. Tensors in shards are replaced by whole
 * ones. The number of ranks must be a power of two.
 *
 * @param whole Returns a whole tensor with the values of a tensor. The caller owns it.
 */
export function treeCollective(collective: Collective, full: (x: Tensor) => Tensor): Collective {
  const verbs = new TreeVerbs(collective, full);
  const members = new Map<PropertyKey, unknown>();
  for (const name of [
    'allReduce',
    'reduce',
    'reduceScatter',
    'allReduceCoalesced',
    'reduceScatterCoalesced',
    'reduceScatterFlat',
  ] as const) {
    const start = verbs[`${name}Async`].bind(verbs) as (...args: unknown[]) => Pending<unknown>;
    members.set(`${name}Async`, start);
    members.set(name, (...args: unknown[]) => start(...args).wait());
  }
  return new Proxy(collective, {
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
    const local = this.#take(x, donate);
    if (this.#hasOneOrder(op)) {
      const pending = given.allReduceAsync(local, op, options);
      if (!donate) local.dispose();
      return pending;
    }
    const combine = op === 'product' ? mul : add;
    const pending =
      local.size > FEW_ELEMENTS ? inSlices(local, combine, given) : inOneCall(local, combine, given);
    return op === 'mean' ? then(pending, (sum) => mul(sum, 1 / given.size)) : pending;
  }

  allReduceCoalescedAsync(
    xs: readonly Tensor[],
    op: ReduceOp = 'sum',
    options: CoalescedOptions = {},
  ): Pending<Tensor[]> {
    const { donate = false } = options;
    const local = xs.map((x) => this.#take(x, donate));
    if (this.#hasOneOrder(op)) {
      const pending = this.given.allReduceCoalescedAsync(local, op, options);
      if (!donate) for (const x of local) x.dispose();
      return pending;
    }
    const isOneDtype = local.every(({ dtype }) => dtype === local[0]!.dtype);
    return isOneDtype && local.length > 1
      ? asOne(local, (flat) => this.allReduceAsync(flat, op, { donate: true }))
      : allPending(local.map((x) => this.allReduceAsync(x, op, { donate: true })));
  }

  reduceAsync(x: Tensor, op?: ReduceOp, toRank = 0): Pending<Tensor | null> {
    return then(this.allReduceAsync(x, op), (all) => (this.given.rank === toRank ? all.clone() : null));
  }

  /** `into` is disposed without being used, because the shard is a slice of a sum. */
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

  reduceScatterFlatAsync(
    xs: readonly Tensor[],
    op?: ReduceOp,
    { donate, ...others }: FlatOptions = {},
  ): Pending<Tensor> {
    const wholes = xs.map((x) => this.#take(x, donate ?? false));
    const flat = tidy(() => concat(wholes.map((x) => reshape(x, [-1]))));
    for (const x of wholes) x.dispose();
    return this.reduceScatterAsync(flat, op, { ...others, donate: true });
  }

  /** A whole tensor with the caller's values. With `donate`, the caller's tensor is disposed. */
  #take(x: Tensor, donate: boolean): Tensor {
    const local = this.whole(x);
    if (donate) x.dispose();
    return local;
  }

  /** With two ranks there is only one order of additions. */
  #hasOneOrder(op: ReduceOp): boolean {
    return this.given.size <= 2 || op === 'max' || op === 'min';
  }
}

/**
 * Concatenates tensors of one dtype, reduces them, and splits the result. Takes ownership of `xs`.
 */
function asOne(xs: readonly Tensor[], reduce: (flat: Tensor) => Pending<Tensor>): Pending<Tensor[]> {
  const flat = tidy(() => concat(xs.map((x) => reshape(x, [-1]))));
  const sizes = xs.map(({ size }) => size);
  const shapes = xs.map(({ shape }) => shape);
  for (const x of xs) x.dispose();
  return then(reduce(flat), (sum) => split(sum, sizes).map((shard, i) => reshape(shard, shapes[i]!)));
}

type Combine = (a: Tensor, b: Tensor) => Tensor;

/** Every rank fetches the tensors of all ranks. Takes ownership of `own`. */
function inOneCall(local: Tensor, combine: Combine, collective: Collective): Pending<Tensor> {
  const row = reshape(local, [1, -1]);
  const all = collective.allGatherAsync(row);
  const { shape } = local;
  row.dispose();
  local.dispose();
  return then(all, (rows) => reshape(inPairs(unstack(rows), combine), shape));
}

/**
 * Every rank combines its own slice of all ranks' tensors and sends it to all. Takes ownership of
 * `own`.
 */
function inSlices(local: Tensor, combine: Combine, collective: Collective): Pending<Tensor> {
  const { rank, size } = collective;
  const lengths = Array.from(
    { length: size },
    (_, i) => Math.floor(((i + 1) * local.size) / size) - Math.floor((i * local.size) / size),
  );
  const flat = reshape(local, [-1]);
  const slices = collective.allToAllAsync(flat, lengths);
  const { shape } = local;
  flat.dispose();
  local.dispose();
  return then(slices, (joined) => {
    const ofRanks = split(joined, new Array<number>(size).fill(lengths[rank]!));
    return reshape(collective.allGather(inPairs(ofRanks, combine)), shape);
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

/** Transforms a result, which is disposed. */
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
