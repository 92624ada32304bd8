import { hostname } from 'node:os';
import type { Tensor } from '@tensorflow/tfjs-core';
import type { Collective, CollectiveOf } from '@acc/contract';
import { GroupCollective, type BridgeOf, type Member, type Movable, type RankGroup } from '@acc/collective';
import { activeLayer } from '@acc/kernels';
import { setNumThreads } from '@acc/native';
import { ThreadGroup } from './thread-group.js';
import type { Wire } from './wire.js';

/** A rank of `runOnThreads`, which its module gets. */
export class ThreadRanks {
  readonly rank: number;
  readonly size: number;
  readonly #wire: Wire;
  #groups = 0;
  #collective: Collective | undefined;

  /** @internal */
  constructor(wire: Wire) {
    this.rank = wire.rank;
    this.size = wire.size;
    this.#wire = wire;
  }

  /**
   * The collectives of all ranks, over the tensors of the active tfjs backend. They are for the
   * option `collective` of an Accelerator. Operators of libtorch then run on one thread in each rank.
   */
  get collective(): Collective {
    this.#collective ??= this.collectiveOf<Tensor>(activeLayer({ hasNative: true }));
    return this.#collective;
  }

  /**
   * Collectives of all ranks over other tensors. Every rank makes these calls in the same order.
   *
   * @param bridge `nativeBridge` of @acc/collective for native tensors.
   */
  collectiveOf<T extends Movable>(bridge: BridgeOf<T>): CollectiveOf<T> {
    setNumThreads(1);
    const all = Array.from({ length: this.size }, (_, rank) => rank);
    return new GroupCollective({ joined: groupOf(this.#wire, all, `group ${++this.#groups}`), bridge });
  }
}

function groupOf(wire: Wire, ranks: readonly number[], name: string): RankGroup {
  const group = new ThreadGroup(wire, name, ranks);
  let subgroups = 0;
  return {
    group,
    engine: 'threads',
    reason: 'ranks are threads of one process',
    members: ranks.map((rank) => memberOf(rank, wire.size)),
    nextSubgroupName: () => String(++subgroups),
    subgroup: (list, own) =>
      groupOf(
        wire,
        list.map((rank) => ranks[rank]!),
        `${name}/${own}`,
      ),
    close: () => group.close(),
  };
}

function memberOf(rank: number, size: number): Member {
  const host = hostname();
  return {
    rank,
    host,
    pid: process.pid,
    address: host,
    size,
    wish: { choice: 'auto' },
    id: `thread ${rank}`,
  };
}
