import { tensor1d, tidy, type Tensor, type Tensor2D } from '@tensorflow/tfjs-core';
import { collectiveOnTape } from '@acc/collective';
import { valuesOf, type LocalPart } from '@acc/contract';
import { spreadRows, type RowMap } from './row-map.js';
import { startsOf } from './routing.js';

/**
 * Sends rows to the ranks that have their experts, and the results back (Lepikhin et al., "GShard",
 * 2020; uneven, without padding, as Gale et al., "MegaBlocks", 2022). All ranks of the group call it.
 *
 * @param rows `[rows, width]`, sorted by expert.
 * @param counts The rows of each expert of the layer.
 * @param run Computes rows that are sorted by expert; `counts` are those of this rank's experts.
 */
export function onRanksOfExperts(
  rows: Tensor2D,
  counts: readonly number[],
  part: Omit<LocalPart, 'own'>,
  run: (rows: Tensor2D, counts: readonly number[]) => Tensor2D,
): Tensor2D {
  const { group, kernels } = part;
  const received = exchangedCounts(counts, part);
  const own = counts.length / group.size;
  const sent = Array.from({ length: group.size }, (_, rank) =>
    sum(counts.slice(rank * own, (rank + 1) * own)),
  );
  const arriving = received.map(sum);
  const move = (x: Tensor, from: readonly number[], to: readonly number[]) =>
    collectiveOnTape(
      x,
      { run: (given) => group.allToAll(given, from), gradient: (dy) => group.allToAll(dy, to) },
      kernels,
    ) as Tensor2D;
  const { byExpert, byRank, counts: ofExperts } = ordersOf(received);
  const arrived = spreadRows(move(rows, sent, arriving), byExpert) as Tensor2D;
  return move(spreadRows(run(arrived, ofExperts), byRank), arriving, sent);
}

/** The rows that each rank sends to each of this rank's experts: `[rank][expert]`. */
function exchangedCounts(counts: readonly number[], { group }: Pick<LocalPart, 'group'>): number[][] {
  const own = counts.length / group.size;
  const flat = [...valuesOf(tidy(() => group.allToAll(tensor1d([...counts], 'int32'))))];
  return Array.from({ length: group.size }, (_, rank) => flat.slice(rank * own, (rank + 1) * own));
}

/** Rows arrive sorted by rank, and within a rank by expert. */
function ordersOf(received: readonly (readonly number[])[]): {
  readonly byExpert: RowMap;
  readonly byRank: RowMap;
  readonly counts: readonly number[];
} {
  const counts = received[0]!.map((_, expert) => sum(received.map((ofRank) => ofRank[expert]!)));
  const next = startsOf(counts);
  const length = sum(counts);
  const arrivedAt = new Int32Array(length);
  const sortedAt = new Int32Array(length);
  let at = 0;
  for (const ofRank of received) {
    ofRank.forEach((count, expert) => {
      for (let i = 0; i < count; i++) {
        arrivedAt[next[expert]!] = at;
        sortedAt[at++] = next[expert]!++;
      }
    });
  }
  return {
    byExpert: { from: arrivedAt, back: [sortedAt] },
    byRank: { from: sortedAt, back: [arrivedAt] },
    counts,
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
