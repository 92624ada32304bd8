import { sayFailed } from '#platform/unasked';
import { AccError, isAccError, type Collective, type StateLayer } from '@acc/contract';
import { randomHex } from '@acc/platform';
import { encodeTree, type EncodedTree } from '../format/state-tree.js';
import { elementBytes, elementsOf } from '../format/dtypes.js';
import type { RankRecord, RunInfo } from '../format/manifest.js';
import { describeLocation, type Location } from '../location.js';
import { fileNames, isOfOneRank, isOurs } from '../names.js';
import { assignItems } from './assign.js';
import { commit, type CommitJob } from './commit.js';
import { keyOf, itemsOfTensor, itemsOfTree, type NamedTensor, type WriteItem } from './items.js';
import { fullTensorsOf, type Claim } from './full-tensors.js';
import { snapshotItems, releaseItems, writeItems, type SnapshotItem } from './write-rank.js';

/**
 * The content of a save. `info` and `shared` are equal on all ranks. `local` and `tensors` belong
 * to each rank.
 */
export interface SaveRequest {
  readonly info: RunInfo;
  /** The same on every rank. */
  readonly shared: unknown;
  /** The state of this rank only. */
  readonly local: unknown;
  /**
   * Tensors that all ranks hold together, by name. Ranks may hold different tensors, the same
   * tensors, or shards of the same tensors. Each element is written once.
   */
  readonly tensors: readonly NamedTensor[];
}

export interface SaveContext {
  readonly layer: StateLayer;
  readonly collective: Collective;
}

/** A save whose snapshot has been taken on this rank. */
export interface StartedSave {
  readonly location: Location;
  /** Resolves when this rank's file is written, or with the error if that failed. Never rejects. */
  readonly written: Promise<AccError | undefined>;
  /**
   * On rank 0: resolves when the save is complete, or with the error. Undefined on other ranks.
   * Never rejects.
   */
  readonly committed: Promise<AccError | undefined> | undefined;
  /** Stops rank 0 from waiting for the files of other ranks. */
  abandon(): void;
  /**
   * Deletes the files that this rank has written, if that is possible; on rank 0 those of all ranks.
   * Never rejects.
   */
  withdraw(): Promise<void>;
}

/** The message of a rank to the others before anything is written: its items or its error. */
interface Announcement {
  readonly id: string;
  readonly claims: readonly (Claim & Pick<WriteItem, 'dtype' | 'isOfFirst'>)[];
  readonly problem?: string;
}

/**
 * Takes the snapshot, agrees with the other ranks on who writes which item, and begins to write in
 * the background. Every rank calls it.
 *
 * @throws AccError `ACC_STATE_INVALID`, on all ranks, if the state of one rank cannot be saved or
 * if ranks disagree on a tensor.
 */
export function startSave(location: Location, request: SaveRequest, context: SaveContext): StartedSave {
  const { collective } = context;
  const prepared = prepare(request, context);
  const announced = collective.allGatherObject<Announcement>({
    id: randomHex(4),
    claims: prepared.items.map(claimOf),
    ...(prepared.error && { problem: prepared.error.message }),
  });
  throwProblems(announced, prepared.error);
  fullTensorsOf(
    announced.map(({ claims }) => claims),
    isOfOneRank,
  );
  const offers = announced.map(({ claims }) =>
    claims.map((claim) => ({
      key: keyOf(claim),
      bytes: elementsOf(claim.sizes) * elementBytes(claim.dtype),
      isOfFirst: claim.isOfFirst,
    })),
  );
  const mine = assignItems(offers)[collective.rank]!;
  const held = snapshotItems(prepared.items.filter((item) => mine.has(keyOf(item))));
  const job: CommitJob = { location, info: request.info, id: announced[0]!.id, size: collective.size };
  return writeBehind(job, held, prepared.trees!, context);
}

const claimOf = ({ name, dtype, shape, offset, sizes, isOfFirst }: WriteItem) => ({
  ...{ name, dtype, shape, offset, sizes },
  ...(isOfFirst && { isOfFirst }),
});

interface Prepared {
  readonly items: readonly WriteItem[];
  readonly trees: { readonly shared: EncodedTree; readonly local: EncodedTree } | undefined;
  readonly error?: AccError;
}

/**
 * Returns an error instead of throwing it, so that all ranks learn of it. A rank that just stopped
 * would leave the others waiting.
 */
function prepare({ shared, local, tensors }: SaveRequest, { layer, collective }: SaveContext): Prepared {
  try {
    const trees = {
      shared: encodeTree(shared, 'shared'),
      local: encodeTree(local, `rank-${collective.rank}`),
    };
    const items = [
      ...[trees.shared, trees.local].flatMap((tree) => itemsOfTree(tree, layer)),
      ...tensors.flatMap((named) => itemsOfTensor(named, layer)),
    ];
    return { items, trees };
  } catch (error) {
    if (!isAccError(error)) throw error;
    return { items: [], trees: undefined, error };
  }
}

function throwProblems(announced: readonly Announcement[], own: AccError | undefined): void {
  if (own) throw own;
  const rank = announced.findIndex(({ problem }) => problem !== undefined);
  if (rank < 0) return;
  throw new AccError(
    'ACC_STATE_INVALID',
    `The state of rank ${rank} cannot be saved: ${announced[rank]!.problem}`,
    { help: `Correct what getState() gives on rank ${rank}.` },
  );
}

function writeBehind(
  job: CommitJob,
  held: readonly SnapshotItem[],
  trees: NonNullable<Prepared['trees']>,
  { layer, collective }: SaveContext,
): StartedSave {
  const { location, id, size } = job;
  const { rank } = collective;
  const { storage, prefix } = location;
  const abandoning = new AbortController();
  const name = fileNames.tensors(rank, size, id);
  const isOfSave = (key: string) =>
    isOurs(key.slice(prefix.length)) && key.includes(`.${id}.`, prefix.length);

  const write = async (): Promise<RankRecord> => {
    try {
      const file = { storage, key: prefix + name, name, metadata: { format: 'acc' } };
      const written = await writeItems(held, file, layer);
      const record = { ...written, shared: trees.shared.json, local: trees.local.json };
      if (rank > 0) {
        const bytes = new TextEncoder().encode(JSON.stringify({ ...record, shared: null }));
        await storage.put(prefix + fileNames.record(rank, size, id), bytes);
      }
      return record;
    } catch (error) {
      // Rank 0 waits for the record. It would wait for ever if no rank asks how the save ended.
      if (rank > 0) await sayFailed(storage, prefix + fileNames.record(rank, size, id));
      throw error;
    } finally {
      releaseItems(held);
    }
  };
  const record = write();
  return {
    location,
    written: outcomeOf(record, location),
    committed:
      rank === 0
        ? outcomeOf(
            record.then((own) => commit(job, own, abandoning.signal)),
            location,
          )
        : undefined,
    abandon: () => abandoning.abort(),
    withdraw: async () => {
      const keys = [name, fileNames.record(rank, size, id)].map((each) => prefix + each);
      try {
        if (rank === 0) keys.push(...(await storage.list(prefix)).map(({ key }) => key).filter(isOfSave));
        await storage.delete(keys);
      } catch {
        // If the storage refuses writes, it may refuse deletions too.
      }
    },
  };
}

async function outcomeOf(work: Promise<unknown>, location: Location): Promise<AccError | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (isAccError(error)) return error;
    const where = describeLocation(location);
    return new AccError('ACC_STORAGE_FAILED', `Saving to ${where} failed: ${(error as Error).message}.`, {
      help: 'Check that the storage can be reached and has free space.',
      cause: error,
    });
  }
}
