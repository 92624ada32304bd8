import type {
  AllGatherOptions,
  AllReduceOptions,
  CoalescedOptions,
  MessageOptions,
  CollectiveOf,
  FlatOptions,
  Pending,
  ReduceOp,
  ShardVerbOptions,
  Traffic,
} from '@acc/contract';
import { BlockingVerbs } from './blocking-verbs.js';
import { Calls } from './calls.js';
import { Context } from './context.js';
import { hostsOf } from './layout.js';
import type { RankGroup } from './rank-group.js';
import { ranksOfSubgroup } from './subgroup-ranks.js';
import type { BridgeOf, Movable } from './tensors.js';
import { bytesOf } from './traffic.js';
import {
  allGatherCoalesced,
  allReduceCoalesced,
  broadcastCoalesced,
  reduceScatterCoalesced,
} from './verbs/coalesced.js';
import { allGatherFlat, reduceScatterFlat } from './verbs/flat.js';
import { Incoming, sendMessage, Slots } from './verbs/messages.js';
import { allGather, allToAll, broadcast, gather, scatter } from './verbs/movements.js';
import { allGatherObject, broadcastObject } from './verbs/objects.js';
import { allReduce, allReduceNow, reduce, reduceScatter } from './verbs/reductions.js';

export interface GroupCollectiveOptions<T extends Movable> {
  /** The group that `joinGroup` returns. */
  readonly joined: RankGroup;
  /** A `TensorBridge` for tfjs tensors, `nativeBridge` for native ones. */
  readonly bridge: BridgeOf<T>;
  /** Called once by `close`. Default: closes `joined`. */
  readonly onClose?: () => void;
}

/** Collectives on a native process group. */
export class GroupCollective<T extends Movable> extends BlockingVerbs<T> implements CollectiveOf<T> {
  readonly rank: number;
  readonly size: number;
  readonly engine: string;
  readonly worldRanks: readonly number[];
  readonly hosts: readonly string[];
  readonly #context: Context<T>;
  readonly #joined: RankGroup;
  readonly #onClose: () => void;
  readonly #subgroups = new Set<GroupCollective<T>>();
  /** The last pending message from each rank. */
  readonly #incoming = new Map<number, Incoming<T>>();
  readonly #sent = new Slots();
  readonly #received = new Slots();

  constructor({ joined, bridge, onClose = () => joined.close() }: GroupCollectiveOptions<T>) {
    super();
    const { group, engine, members } = joined;
    this.#context = new Context(group, bridge, Calls.of(group, members));
    this.#joined = joined;
    this.rank = group.rank;
    this.size = group.size;
    this.engine = engine;
    this.worldRanks = members.map((member) => member.rank);
    this.hosts = hostsOf(members);
    this.#onClose = onClose;
  }

  get traffic(): Traffic {
    return this.#context.calls.traffic;
  }

  broadcastAsync(x: T, fromRank = 0): Pending<T> {
    return broadcast(this.#context, x, fromRank);
  }

  allReduceAsync(x: T, op: ReduceOp = 'sum', options: AllReduceOptions = {}): Pending<T> {
    return allReduce(this.#context, x, op, options);
  }

  override allReduce(x: T, op: ReduceOp = 'sum', options: AllReduceOptions = {}): T {
    return allReduceNow(this.#context, x, op, options);
  }

  reduceAsync(x: T, op: ReduceOp = 'sum', toRank = 0): Pending<T | null> {
    return reduce(this.#context, x, op, toRank);
  }

  allGatherAsync(x: T, options: AllGatherOptions<T> = {}): Pending<T> {
    return allGather(this.#context, x, options);
  }

  gatherAsync(x: T, toRank = 0): Pending<T | null> {
    return gather(this.#context, x, toRank);
  }

  scatterAsync(x: T | null, fromRank = 0): Pending<T> {
    return scatter(this.#context, x, fromRank);
  }

  reduceScatterAsync(x: T, op: ReduceOp = 'sum', options: ShardVerbOptions<T> = {}): Pending<T> {
    return reduceScatter(this.#context, x, op, options);
  }

  allToAllAsync(x: T, rows?: readonly number[]): Pending<T> {
    return allToAll(this.#context, x, rows);
  }

  sendAsync(x: T, toRank: number, { slot, isZeros }: MessageOptions = {}): Pending<void> {
    this.#context.requirePeer(toRank);
    const known = isZeros ? this.#sent.of(toRank, slot) : undefined;
    const native = known ? this.#context.zerosOf(known) : this.#context.native(x, 'send');
    const dtype = known?.dtype ?? x.dtype;
    const call = `send(${dtype}[${native.shape.join(',')}], rank ${toRank})`;
    this.#context.calls.noteMessage(call, bytesOf(native.dtype, native.shape));
    const message = { native, dtype, toRank, slot };
    const start = () => sendMessage(this.#context, message, this.#sent);
    return this.#context.started(call, start, () => native.dispose(), [native]);
  }

  recvAsync(fromRank: number, { slot }: MessageOptions = {}): Pending<T> {
    this.#context.requirePeer(fromRank);
    const incoming = new Incoming(this.#context, fromRank, this.#incoming.get(fromRank), {
      slots: this.#received,
      slot,
    });
    this.#incoming.set(fromRank, incoming);
    return incoming;
  }

  broadcastCoalescedAsync(xs: readonly T[], fromRank = 0): Pending<T[]> {
    return broadcastCoalesced(this.#context, xs, fromRank);
  }

  allReduceCoalescedAsync(
    xs: readonly T[],
    op: ReduceOp = 'sum',
    options: CoalescedOptions = {},
  ): Pending<T[]> {
    return allReduceCoalesced(this.#context, xs, op, options);
  }

  allGatherCoalescedAsync(xs: readonly T[], options: ShardVerbOptions<readonly T[]> = {}): Pending<T[]> {
    return allGatherCoalesced(this.#context, xs, options);
  }

  reduceScatterCoalescedAsync(
    xs: readonly T[],
    op: ReduceOp = 'sum',
    options: ShardVerbOptions<readonly T[]> = {},
  ): Pending<T[]> {
    return reduceScatterCoalesced(this.#context, xs, op, options);
  }

  reduceScatterFlatAsync(xs: readonly T[], op: ReduceOp = 'sum', options: FlatOptions = {}): Pending<T> {
    return reduceScatterFlat(this.#context, xs, op, options);
  }

  allGatherFlatAsync(xs: readonly T[], options: ShardVerbOptions<T> = {}): Pending<T> {
    return allGatherFlat(this.#context, xs, options);
  }

  /** Exchanges call descriptions and no other data. */
  barrier(): void {
    this.#context.calls.exchange({ collective: 'barrier' }, [0]);
  }

  broadcastObject<O>(object: O, fromRank = 0): O {
    return broadcastObject(this.#context, object, fromRank);
  }

  allGatherObject<O>(object: O): O[] {
    return allGatherObject(this.#context, object);
  }

  named<R>(name: string, fn: () => R): R {
    return this.#context.calls.named(name, fn);
  }

  subgroup(ranks: readonly number[]): GroupCollective<T> | undefined {
    const lists = allGatherObject(this.#context, [...ranks], 'subgroup');
    const agreed = ranksOfSubgroup(lists, this.#joined.members);
    const name = this.#joined.nextSubgroupName();
    if (!agreed.includes(this.rank)) return undefined;
    const joined = this.#joined.subgroup(agreed, name);
    const subgroup = new GroupCollective<T>({
      joined,
      bridge: this.#context.bridge,
      onClose: () => {
        this.#subgroups.delete(subgroup);
        joined.close();
      },
    });
    this.#subgroups.add(subgroup);
    return subgroup;
  }

  close(): void {
    if (this.#context.calls.isClosed) return;
    for (const subgroup of [...this.#subgroups]) subgroup.close();
    this.#context.calls.close();
    this.#onClose();
  }
}
