import type { Link } from '../hardware/links.js';

/**
 * Times of collectives in the α–β model, in seconds, for messages of `bytes` on each of `ranks`
 * (nccl-tests, doc/PERFORMANCE.md; Thakur et al., "Optimization of Collective Communication
 * Operations in MPICH", 2005). `bytesPerSecond` of the link is that of one rank in one direction.
 */
export type CollectiveSeconds = (bytes: number, ranks: number, link: Link) => number;

/** Reduce-scatter, then all-gather: 2(n−1) steps, each of an n-th of the message. */
export const ringAllReduce: CollectiveSeconds = (bytes, ranks, link) => 2 * reduceScatter(bytes, ranks, link);

/** Also the time of an all-gather whose result has `bytes`, and of an all-to-all. */
export const reduceScatter: CollectiveSeconds = (bytes, ranks, { latencySeconds, bytesPerSecond }) =>
  (ranks - 1) * (latencySeconds + bytes / ranks / bytesPerSecond);

/** The result has `bytes`. */
export const allGather: CollectiveSeconds = reduceScatter;

/** Every rank sends a different n-th of `bytes` to each. */
export const allToAll: CollectiveSeconds = reduceScatter;

/** Reduce to a root and broadcast along a tree, in a pipeline of parts of the message. */
export const treeAllReduce: CollectiveSeconds = (bytes, ranks, link) => 2 * broadcast(bytes, ranks, link);

/** Along a tree, in a pipeline of parts of the message. Also the time of a reduce. */
export const broadcast: CollectiveSeconds = (bytes, ranks, { latencySeconds, bytesPerSecond }) =>
  ranks < 2 ? 0 : Math.ceil(Math.log2(ranks)) * latencySeconds + bytes / bytesPerSecond;

/** One message between two ranks. */
export const send = (bytes: number, { latencySeconds, bytesPerSecond }: Link): number =>
  latencySeconds + bytes / bytesPerSecond;

/** A group of ranks on hosts: some of them on each, all hosts alike. */
export interface RankGroup {
  readonly ranks: number;
  readonly ranksPerHost: number;
  /** Between ranks of a host. */
  readonly inside: Link;
  /** Of one rank to other hosts. */
  readonly between: Link;
}

/**
 * Reduce-scatter on the host, all-reduce of a share between hosts, all-gather on the host. Every rank
 * of a host uses its own card.
 */
export function hierarchicalAllReduce(bytes: number, group: RankGroup): number {
  const { ranks, ranksPerHost, inside, between } = group;
  const onHost = 2 * reduceScatter(bytes, ranksPerHost, inside);
  return onHost + fastest(bytes / ranksPerHost, ranks / ranksPerHost, between);
}

/** The faster of a ring and a tree, as NCCL chooses by size. */
const fastest: CollectiveSeconds = (bytes, ranks, link) =>
  ranks < 2 ? 0 : Math.min(ringAllReduce(bytes, ranks, link), treeAllReduce(bytes, ranks, link));

/** An all-reduce of the fastest kind: a ring or a tree on one host, else hierarchical or one ring over all. */
export function allReduceSeconds(bytes: number, group: RankGroup): number {
  const { ranks, ranksPerHost, inside } = group;
  if (ranks <= ranksPerHost) return fastest(bytes, ranks, inside);
  return Math.min(hierarchicalAllReduce(bytes, group), ringAllReduce(bytes, ranks, ringLink(group)));
}

/** Half of {@link allReduceSeconds} for large messages: a reduce-scatter or an all-gather over the group. */
export function shareSeconds(bytes: number, group: RankGroup): number {
  if (group.ranks <= group.ranksPerHost) return reduceScatter(bytes, group.ranks, group.inside);
  return reduceScatter(bytes, group.ranks, ringLink(group));
}

/**
 * A ring that goes through all ranks of a host before it leaves it. As many rings as the host has ranks
 * of the group share its cards, so each rank has its own card's rate times their number.
 */
function ringLink({ ranks, ranksPerHost, inside, between }: RankGroup): Link {
  const hosts = ranks / ranksPerHost;
  return {
    bytesPerSecond: Math.min(inside.bytesPerSecond, between.bytesPerSecond * ranksPerHost),
    latencySeconds: (hosts * between.latencySeconds + (ranks - hosts) * inside.latencySeconds) / ranks,
  };
}
