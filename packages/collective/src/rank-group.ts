import { locateMpi, ProcessGroup, type EngineSpec, type GroupOptions, type Store } from '@acc/native';
import { agreeOnEngine, agreeOnEngineNow, slowWay, type ChosenEngine, type Engine } from './engine-choice.js';
import type { GroupEngine } from './group-engine.js';
import { layoutOf, type JobLayout } from './layout.js';
import { proveMembership } from './proof.js';
import type { Member } from './member.js';
import { onlyOnStreams } from './stream-waits.js';

/** A group of ranks and its members. */
export interface RankGroup {
  readonly group: GroupEngine;
  /** The engine, for example `shm`. */
  readonly engine: string;
  /** The reason for that engine. */
  readonly reason: string;
  /** By rank in this group. The `rank` of each member is its rank in the job. */
  readonly members: readonly Member[];
  /**
   * Creates a sub-group of some ranks, numbered in the order of the list. All listed ranks must
   * call it. It blocks until they have.
   *
   * @param ranks Ranks of this group, including this rank.
   * @param name Distinguishes sub-groups of this group. It must be the same on each of the ranks.
   * @throws AccError `ACC_ENGINE_UNAVAILABLE`, `ACC_JOB_TOKEN`, `ACC_RENDEZVOUS_FAILED`,
   * `ACC_PEER_LOST`.
   */
  subgroup(ranks: readonly number[], name: string): RankGroup;
  /**
   * The name of the next sub-group. Every rank of this group calls it equally often, also those that
   * are not in the sub-group.
   */
  nextSubgroupName(): string;
  /** Frees the group's sockets, memory and threads. */
  close(): void;
}

/** The settings with which a process creates groups. */
export interface Site {
  readonly store: Store;
  readonly jobToken: string;
  readonly times: Pick<GroupOptions, 'timeoutMs' | 'joinTimeoutMs' | 'patience'>;
  /** The address of this host by which peers reach it. */
  readonly address: string;
  /** Of collectives of NCCL. */
  readonly streamWaits: boolean;
}

/** The ranks that form a group. */
interface Membership {
  /** The same on every member, and used by no other group. */
  readonly name: string;
  readonly members: readonly Member[];
  /** The rank of this process in the group. */
  readonly rank: number;
}

/**
 * Creates the group of all ranks. Every rank proves that it knows the job's token.
 *
 * @throws AccError `ACC_INVALID_OPTION` on every rank, if streams shall wait and the engine is not NCCL.
 */
export async function makeWorld(site: Site, membership: Membership): Promise<RankGroup> {
  const { members, rank } = membership;
  const layout = layoutOf(members, rank);
  const wishes = members.map(({ wish }) => wish);
  const chosen = await agreeOnEngine(wishes, layout, (engine) =>
    ProcessGroup.create(site.store, optionsOf(site, membership, engine), specOf(site, layout, engine)),
  );
  const warning = rank === 0 ? slowWay(wishes, chosen) : undefined;
  if (warning !== undefined) console.warn(warning);
  const world = proved(site, membership, chosen);
  if (!site.streamWaits || chosen.engine === 'nccl') return world;
  world.close();
  throw onlyOnStreams(`the ranks exchange tensors by '${chosen.engine}'`);
}

/**
 * Chooses the engine like the job does. `hierarchical` is treated as `auto`, so a sub-group inside
 * one host uses shared memory.
 */
function makeSubgroup(site: Site, membership: Membership): RankGroup {
  const { members, rank } = membership;
  const layout = layoutOf(members, rank);
  const wishes = members.map(({ wish }) =>
    wish.choice === 'hierarchical' ? { ...wish, choice: 'auto' as const } : wish,
  );
  const worldRanks = members.map((member) => member.rank);
  const chosen = agreeOnEngineNow(wishes, layout, (engine) => {
    const options = { ...optionsOf(site, membership, engine), worldRanks };
    return ProcessGroup.createNow(site.store, options, specOf(site, layout, engine));
  });
  return proved(site, membership, chosen);
}

function proved(site: Site, { name, members, rank }: Membership, chosen: ChosenEngine): RankGroup {
  const { group } = chosen;
  try {
    proveMembership(group, site.jobToken);
  } catch (error) {
    group.close();
    throw error;
  }
  let subgroups = 0;
  return {
    ...chosen,
    members,
    nextSubgroupName: () => String(++subgroups),
    subgroup: (ranks, local) =>
      makeSubgroup(site, {
        name: `${name}/${local}`,
        members: ranks.map((one) => members[one]!),
        rank: ranks.indexOf(rank),
      }),
    close: () => group.close(),
  };
}

/**
 * Each engine has its own group name. If `auto` fails on one engine, it can create the group on
 * another.
 */
function optionsOf({ times }: Site, { name, members, rank }: Membership, engine: Engine): GroupOptions {
  return { name: `${name}/${engine}`, rank, size: members.length, ...times };
}

function specOf({ address, streamWaits }: Site, layout: JobLayout, engine: Engine): EngineSpec {
  switch (engine) {
    case 'shm':
      return { engine };
    case 'mpi':
      return { engine, library: locateMpi()!.path };
    case 'hierarchical':
      return { engine, address, layout };
    case 'nccl':
      return { engine, address, streamWaits };
    default:
      return { engine, address };
  }
}
