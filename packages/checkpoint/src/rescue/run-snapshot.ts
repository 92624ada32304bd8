import type { StateLayer } from '@acc/contract';
import type { RunInfo } from '../format/manifest.js';
import { encodeTree, type EncodedTree } from '../format/state-tree.js';
import { itemsOfTensor, itemsOfTree, type WriteItem } from '../write/items.js';
import type { SaveRequest } from '../write/save.js';
import { snapshotItems, releaseItems, type SnapshotItem } from '../write/write-rank.js';

/** The state of a run on one rank at one moment. It shares memory with the run. */
export class RunSnapshot {
  readonly info: RunInfo;
  readonly shared: EncodedTree['json'];
  readonly local: EncodedTree['json'];
  /** The state of this rank alone. */
  readonly own: readonly SnapshotItem[];
  /** State that other ranks hold, too, or of which they hold other shards. */
  readonly common: readonly SnapshotItem[];

  /**
   * Holds the state without a copy. What the run writes in place while it is held is copied first.
   *
   * @throws AccError `ACC_STATE_INVALID` for a state that a checkpoint cannot have.
   */
  constructor({ info, shared, local, tensors }: SaveRequest, rank: number, layer: StateLayer) {
    const trees = { shared: encodeTree(shared, 'shared'), local: encodeTree(local, `rank-${rank}`) };
    this.info = info;
    this.shared = trees.shared.json;
    this.local = trees.local.json;
    this.own = snapshotItems(itemsOfTree(trees.local, layer));
    this.common = snapshotItems([
      ...itemsOfTree(trees.shared, layer),
      ...tensors.flatMap((named) => itemsOfTensor(named, layer)),
    ]);
  }

  release(): void {
    releaseItems(this.own);
    releaseItems(this.common);
  }
}

export function byteLengthOf(held: readonly SnapshotItem[]): number {
  return held.reduce((sum, { item }) => sum + item.byteLength, 0);
}

export type { SnapshotItem, WriteItem };
