import { clone, concat, reshape, tidy, type Tensor } from '@tensorflow/tfjs-core';
import {
  AccError,
  allPending,
  type AllGatherOptions,
  type AllReduceOptions,
  type CoalescedOptions,
  type Collective,
  type FlatOptions,
  type Pending,
  type ReduceOp,
  type ShardVerbOptions,
} from '@acc/contract';
import { BlockingVerbs } from './blocking-verbs.js';
import { objectFromBytes, objectToBytes } from './object-bytes.js';
import { ranksOfSubgroup } from './subgroup-ranks.js';
import {
  requireCount,
  requireNarrowable,
  requireNumeric,
  requireOneDtype,
  requirePlace,
  requireRank,
  requireReducible,
  rowsOfShard,
  sum,
} from './tensors.js';

/**
 * The collectives of a group with one rank. They refuse the same calls as a larger group does. They
 * use no network and no native code.
 */
export class SingleCollective extends BlockingVerbs<Tensor> implements Collective {
  readonly rank = 0;
  readonly size = 1;
  readonly engine = 'single';
  readonly worldRanks: readonly number[];

  /** @param worldRank The rank of this process in the job. */
  constructor(worldRank = 0) {
    super();
    this.worldRanks = [worldRank];
  }

  subgroup(ranks: readonly number[]): SingleCollective {
    ranksOfSubgroup([ranks], [{ rank: 0 }]);
    return new SingleCollective(this.worldRanks[0]);
  }

  named<R>(_name: string, fn: () => R): R {
    return fn();
  }

  broadcastAsync(x: Tensor, fromRank = 0): Pending<Tensor> {
    requireRank(fromRank, 1);
    return moved('broadcast', x);
  }

  allReduceAsync(x: Tensor, op: ReduceOp = 'sum', options: AllReduceOptions = {}): Pending<Tensor> {
    if (options.wireDtype) requireNarrowable(x, options.wireDtype);
    return reduced('allReduce', x, op, options.donate);
  }

  reduceAsync(x: Tensor, op: ReduceOp = 'sum', toRank = 0): Pending<Tensor> {
    requireRank(toRank, 1);
    return reduced('reduce', x, op);
  }

  allGatherAsync(x: Tensor, options: AllGatherOptions<Tensor> = {}): Pending<Tensor> {
    requireNumeric(x, 'allGather');
    return done(shard('allGather', x, joined, options));
  }

  gatherAsync(x: Tensor, toRank = 0): Pending<Tensor> {
    requireRank(toRank, 1);
    return moved('gather', x, joined);
  }

  scatterAsync(x: Tensor | null, fromRank = 0): Pending<Tensor> {
    requireRank(fromRank, 1);
    if (x) return moved('scatter', x);
    throw new AccError('ACC_COLLECTIVE_SHAPE', 'scatter takes a tensor on rank 0 and null on other ranks.', {
      help: 'Pass the tensor: this process is rank 0.',
    });
  }

  reduceScatterAsync(
    x: Tensor,
    op: ReduceOp = 'sum',
    options: ShardVerbOptions<Tensor> = {},
  ): Pending<Tensor> {
    return done(scattered('reduceScatter', x, op, options));
  }

  allToAllAsync(x: Tensor): Pending<Tensor> {
    return moved('allToAll', x);
  }

  sendAsync(): Pending<void> {
    throw alone();
  }

  recvAsync(): Pending<Tensor> {
    throw alone();
  }

  broadcastCoalescedAsync(xs: readonly Tensor[], fromRank = 0): Pending<Tensor[]> {
    requireRank(fromRank, 1);
    return allPending(xs.map((x) => moved('broadcastCoalesced', x)));
  }

  allReduceCoalescedAsync(
    xs: readonly Tensor[],
    op: ReduceOp = 'sum',
    options: CoalescedOptions = {},
  ): Pending<Tensor[]> {
    const given = new Set<Tensor>();
    return allPending(
      xs.map((x) => {
        // A tensor that occurs twice in the list yields two results.
        const donate = options.donate && !given.has(x);
        given.add(x);
        return reduced('allReduceCoalesced', x, op, donate);
      }),
    );
  }

  allGatherCoalescedAsync(
    xs: readonly Tensor[],
    options: ShardVerbOptions<readonly Tensor[]> = {},
  ): Pending<Tensor[]> {
    const gather = (x: Tensor, local: ShardVerbOptions<Tensor>) => {
      requireNumeric(x, 'allGatherCoalesced');
      return shard('allGatherCoalesced', x, joined, local);
    };
    return done(eachShard('allGatherCoalesced', xs, options, gather));
  }

  reduceScatterCoalescedAsync(
    xs: readonly Tensor[],
    op: ReduceOp = 'sum',
    options: ShardVerbOptions<readonly Tensor[]> = {},
  ): Pending<Tensor[]> {
    const scatter = (x: Tensor, local: ShardVerbOptions<Tensor>) =>
      scattered('reduceScatterCoalesced', x, op, local);
    return done(eachShard('reduceScatterCoalesced', xs, options, scatter));
  }

  reduceScatterFlatAsync(
    xs: readonly Tensor[],
    op: ReduceOp = 'sum',
    options: FlatOptions = {},
  ): Pending<Tensor> {
    for (const x of xs) requireReducible(x, op);
    return done(flat('reduceScatterFlat', xs, options));
  }

  allGatherFlatAsync(xs: readonly Tensor[], options: ShardVerbOptions<Tensor> = {}): Pending<Tensor> {
    return done(flat('allGatherFlat', xs, options));
  }

  barrier(): void {}

  broadcastObject<O>(object: O, fromRank = 0): O {
    requireRank(fromRank, 1);
    return copyOf(object);
  }

  allGatherObject<O>(object: O): O[] {
    return [copyOf(object)];
  }

  close(): void {}
}

function moved(verb: string, x: Tensor, move: (x: Tensor) => Tensor = clone): Pending<Tensor> {
  requireNumeric(x, verb);
  return done(move(x));
}

function reduced(verb: string, x: Tensor, op: ReduceOp, donate = false): Pending<Tensor> {
  requireNumeric(x, verb);
  requireReducible(x, op);
  return done(donate ? x : clone(x));
}

/** The only shard, which is the whole tensor. */
function shard(
  verb: string,
  x: Tensor,
  make: (x: Tensor) => Tensor,
  { donate, wireDtype, into }: ShardVerbOptions<Tensor>,
): Tensor {
  if (wireDtype) requireNarrowable(x, wireDtype);
  const result = make(x);
  try {
    if (into) requirePlace(into, result, verb);
  } catch (error) {
    result.dispose();
    throw error;
  }
  into?.dispose();
  if (donate) x.dispose();
  return result;
}

function scattered(verb: string, x: Tensor, op: ReduceOp, options: ShardVerbOptions<Tensor>): Tensor {
  requireNumeric(x, verb);
  requireReducible(x, op);
  rowsOfShard(x.shape, 1, verb);
  return shard(verb, x, clone, options);
}

function eachShard(
  verb: string,
  xs: readonly Tensor[],
  { donate, into, ...others }: ShardVerbOptions<readonly Tensor[]>,
  make: (x: Tensor, local: ShardVerbOptions<Tensor>) => Tensor,
): Tensor[] {
  if (into) requireCount(into, xs, verb);
  const results = xs.map((x, i) => make(x, { ...others, ...(into && { into: into[i]! }) }));
  // A tensor that occurs twice in the list yields two results.
  if (donate) for (const x of xs) x.dispose();
  return results;
}

/** A list of tensors as one flat tensor. */
function flat(
  verb: string,
  xs: readonly Tensor[],
  { donate, wireDtype, into }: ShardVerbOptions<Tensor>,
): Tensor {
  for (const x of xs) {
    requireNumeric(x, verb);
    if (wireDtype) requireNarrowable(x, wireDtype);
  }
  requireOneDtype(xs, verb);
  if (into) requirePlace(into, { dtype: xs[0]!.dtype, shape: [sum(xs.map(({ size }) => size))] }, verb);
  const result = tidy(() => concat(xs.map((x) => reshape(x, [-1]))));
  into?.dispose();
  if (donate) for (const x of xs) x.dispose();
  return result;
}

/** A handle to a result that is already there. */
function done<T>(value: T): Pending<T> {
  return { isDone: true, wait: () => value };
}

function copyOf<O>(object: O): O {
  return objectFromBytes(objectToBytes(object)) as O;
}

function joined(x: Tensor): Tensor {
  return x.rank === 0 ? reshape(x, [1]) : clone(x);
}

function alone(): AccError {
  return new AccError('ACC_COLLECTIVE_RANK', 'There is no other rank.', {
    help: 'Start several ranks, for example by npx acc launch -n 2, or leave out the message.',
  });
}
