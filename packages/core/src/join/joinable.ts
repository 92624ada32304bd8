import { div, tidy, type Tensor } from '@tensorflow/tfjs-core';
import {
  AccError,
  afterAll,
  allPending,
  type AllGatherOptions,
  type AllReduceOptions,
  type CoalescedOptions,
  type Collective,
  type Pending,
  type ReduceOp,
  type ShardVerbOptions,
} from '@acc/contract';
import { takePart, type Call } from './take-part.js';

type Verbs = Partial<Collective>;

function wireOf({ wireDtype }: ShardVerbOptions<unknown>): Pick<Call, 'wireDtype'> {
  return wireDtype ? { wireDtype } : {};
}

/**
 * Collectives that continue when ranks run out of data at different times. While ranks join, each
 * call is first announced to all ranks. Ranks whose data has ended take part with values that
 * change nothing, and learn when all ranks have ended.
 */
export class Joinable {
  /** The collective that replaces the group's own. */
  readonly collective: Collective;
  readonly #group: Collective;
  #isJoining = false;
  /** The name of the calls while ranks join. */
  #name = '';
  /** The ranks that made the last call. */
  #lastActive: readonly number[] = [0];

  constructor(group: Collective) {
    this.#group = group;
    const whileJoining = this.#verbs();
    const plain = new Map<PropertyKey, unknown>();
    this.collective = new Proxy(group, {
      get: (target, key) => {
        const known = this.#isJoining ? undefined : plain.get(key);
        if (known !== undefined) return known;
        const member = Reflect.get(target, key) as unknown;
        if (typeof member !== 'function') return member;
        if (this.#isJoining && key !== 'close')
          return whileJoining[key as keyof Verbs] ?? refuse(String(key));
        const bound = member.bind(target) as unknown;
        plain.set(key, bound);
        return bound;
      },
    });
  }

  /** Whether some ranks may have ended while others continue. */
  get isJoining(): boolean {
    return this.#isJoining;
  }

  begin(): void {
    this.#isJoining = true;
  }

  /**
   * The number of ranks that still have data. While ranks join, all ranks with data must call it
   * together.
   */
  countActive(): number {
    return this.#isJoining ? this.#announce({ verb: 'count' }).active.length : this.#group.size;
  }

  /**
   * Takes part in the calls of the other ranks until they have ended. Returns a rank that was among
   * the last.
   */
  shadow(): number {
    for (;;) {
      const { calls, active } = this.#exchange(null);
      if (active.length === 0) return this.#lastActive[0]!;
      takePart(calls[active[0]!]!, this.#group, active);
    }
  }

  end(): void {
    this.#isJoining = false;
  }

  #announce(call: Call): { calls: readonly (Call | null)[]; active: readonly number[] } {
    const { calls, active } = this.#exchange({ ...call, name: this.#name });
    const verbs = active.map((rank) => [calls[rank]!.verb, calls[rank]!.name].filter(Boolean).join(' for '));
    if (verbs.every((verb) => verb === verbs[0])) return { calls, active };
    const lines = active.map((rank, i) => `  rank ${rank}: ${verbs[i]!}`);
    throw new AccError(
      'ACC_COLLECTIVE_MISMATCH',
      `Ranks called different collectives:\n${lines.join('\n')}`,
      {
        help: 'Every rank with data must call the same collectives in the same order.',
      },
    );
  }

  #exchange(own: Call | null): { calls: readonly (Call | null)[]; active: readonly number[] } {
    const calls = this.#group.allGatherObject(own);
    const active = calls.flatMap((call, rank) => (call ? [rank] : []));
    if (active.length > 0) this.#lastActive = active;
    return { calls, active };
  }

  #named<R>(name: string, fn: () => R): R {
    const before = this.#name;
    this.#name = name;
    try {
      return fn();
    } finally {
      this.#name = before;
    }
  }

  /**
   * The verbs between whole tensors and shards. Ranks that have ended contribute no rows to a
   * gather, so its result does not have the shape of `into`, which is then disposed unused.
   */
  #shardVerbs(): Verbs {
    const group = this.#group;
    const announceSum = (verb: Call['verb'], call: Omit<Call, 'verb'>, op: ReduceOp) =>
      this.#announce({ ...call, verb, op: op === 'mean' ? 'sum' : op }).active.length;
    const travel = ({ donate, wireDtype }: ShardVerbOptions<unknown>) => ({
      ...(donate && { donate }),
      ...(wireDtype && { wireDtype }),
    });
    const reduceScatterAsync: Collective['reduceScatterAsync'] = (x, op = 'sum', options = {}) => {
      const { into } = options;
      const count = announceSum('reduceScatter', { dtype: x.dtype, shape: x.shape, ...wireOf(options) }, op);
      const pending = group.reduceScatterAsync(x, op === 'mean' ? 'sum' : op, {
        ...travel(options),
        ...(into && { into }),
      });
      return op === 'mean' ? divided(pending, count) : pending;
    };
    const reduceScatterCoalescedAsync: Collective['reduceScatterCoalescedAsync'] = (
      xs,
      op = 'sum',
      options = {},
    ) => {
      const { into } = options;
      const count = announceSum('reduceScatterCoalesced', { list: listOf(xs), ...wireOf(options) }, op);
      const pending = group.reduceScatterCoalescedAsync(xs, op === 'mean' ? 'sum' : op, {
        ...travel(options),
        ...(into && { into }),
      });
      return op === 'mean' ? allDivided(pending, count) : pending;
    };
    const allGatherAsync = (x: Tensor, options: AllGatherOptions<Tensor> = {}): Pending<Tensor> => {
      this.#announce({ verb: 'allGather', dtype: x.dtype, shape: x.shape, ...wireOf(options) });
      options.into?.dispose();
      return group.allGatherAsync(x, travel(options));
    };
    const allGatherCoalescedAsync: Collective['allGatherCoalescedAsync'] = (xs, options = {}) => {
      this.#announce({ verb: 'allGatherCoalesced', list: listOf(xs), ...wireOf(options) });
      for (const one of options.into ?? []) one.dispose();
      const { wireDtype, donate } = options;
      const pending = xs.map((x) => group.allGatherAsync(x, wireDtype ? { wireDtype } : {}));
      if (donate) for (const x of xs) x.dispose();
      return allPending(pending);
    };
    return {
      reduceScatterAsync,
      reduceScatterCoalescedAsync,
      allGatherAsync,
      allGatherCoalescedAsync,
      reduceScatter: (...args) => reduceScatterAsync(...args).wait(),
      reduceScatterCoalesced: (...args) => reduceScatterCoalescedAsync(...args).wait(),
      allGather: (...args) => allGatherAsync(...args).wait(),
      allGatherCoalesced: (...args) => allGatherCoalescedAsync(...args).wait(),
    };
  }

  /**
   * The verbs while ranks join. If the root of a call has ended, the first active rank replaces it.
   */
  #verbs(): Verbs {
    const group = this.#group;
    const describe = (verb: Call['verb'], x: Tensor): Call => ({ verb, dtype: x.dtype, shape: x.shape });
    const rootOf = (active: readonly number[], rank: number) => (active.includes(rank) ? rank : active[0]!);

    const broadcastAsync = (x: Tensor, fromRank = 0): Pending<Tensor> => {
      const { active } = this.#announce({ ...describe('broadcast', x), fromRank });
      return group.broadcastAsync(x, rootOf(active, fromRank));
    };
    const allReduceAsync = (
      x: Tensor,
      op: ReduceOp = 'sum',
      options: AllReduceOptions = {},
    ): Pending<Tensor> => {
      const isMean = op === 'mean';
      const { wireDtype, donate = false } = options;
      const call = { ...describe('allReduce', x), op: isMean ? ('sum' as const) : op };
      const { active } = this.#announce(wireDtype ? { ...call, wireDtype } : call);
      const wire = wireDtype && { wireDtype };
      const pending = group.allReduceAsync(x, call.op, { donate, ...wire });
      return isMean ? divided(pending, active.length) : pending;
    };
    const allReduceCoalescedAsync = (
      xs: readonly Tensor[],
      op: ReduceOp = 'sum',
      { donate = false }: CoalescedOptions = {},
    ): Pending<Tensor[]> => {
      const isMean = op === 'mean';
      const summed = isMean ? ('sum' as const) : op;
      const { active } = this.#announce({ verb: 'allReduceCoalesced', list: listOf(xs), op: summed, donate });
      const pending = group.allReduceCoalescedAsync(xs, summed, { donate });
      return isMean ? allDivided(pending, active.length) : pending;
    };
    return {
      named: (name, fn) => this.#named(name, fn),
      broadcastAsync,
      allReduceAsync,
      allReduceCoalescedAsync,
      ...this.#shardVerbs(),
      broadcast: (x, fromRank) => broadcastAsync(x, fromRank).wait(),
      allReduce: (x, op, options) => allReduceAsync(x, op, options).wait(),
      allReduceCoalesced: (xs, op, options) => allReduceCoalescedAsync(xs, op, options).wait(),
      barrier: () => void this.#announce({ verb: 'barrier' }),
      broadcastObject: <T>(object: T, fromRank = 0): T => {
        const { calls, active } = this.#announce({ verb: 'broadcastObject', object });
        return calls[rootOf(active, fromRank)]!.object as T;
      },
      allGatherObject: <T>(object: T): T[] => {
        const { calls, active } = this.#announce({ verb: 'allGatherObject', object });
        return active.map((rank) => calls[rank]!.object as T);
      },
    };
  }
}

function listOf(xs: readonly Tensor[]): NonNullable<Call['list']> {
  return xs.map(({ dtype, shape }) => ({ dtype, shape }));
}

function refuse(verb: string): () => never {
  return () => {
    throw new AccError('ACC_JOIN_COLLECTIVE', `${verb} cannot be called within joinUnevenInputs.`, {
      help: 'Ranks that have run out of data cannot take part in it. Use broadcast, allReduce, reduceScatter, allGather or the collectives of objects.',
    });
  };
}

function divided(sum: Pending<Tensor>, count: number): Pending<Tensor> {
  return afterAll([sum], (total) => quotient(total!, count));
}

function allDivided(sums: Pending<Tensor[]>, count: number): Pending<Tensor[]> {
  return afterAll([sums], (totals) => totals!.map((total) => quotient(total, count)));
}

/** Disposes `total` and returns the quotient. */
function quotient(total: Tensor, count: number): Tensor {
  const mean = tidy(() => div(total, count));
  total.dispose();
  return mean;
}
