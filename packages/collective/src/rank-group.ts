import { locateMpi, ProcessGroup, type EngineSpec, type GroupOptions, type Store } from '@acc/native';
import { agreeOnEngine, agreeOnEngineNow, type ChosenEngine, type Engine } from './engine-choice.js';
import { layoutOf, type JobLayout } from './layout.js';
import { proveMembership } from './proof.js';
import type { Member } from './rendezvous.js';

/** A group of ranks, and what its collectives need besides. */
export interface RankGroup extends ChosenEngine {
  /** By rank of this group. Their own `rank` is that in the job. */
  readonly members: readonly Member[];
  /**
   * Makes a group of some of its ranks, numbered in the order of the list. All of them call it, and it blocks until they have.
   *
   * @param ranks Of this group; this rank is one of them.
   * @param name Tells sub-groups of this group apart; the same on each of the ranks.
   * @throws AccError `ACC_ENGINE_UNAVAILABLE`, `ACC_JOB_TOKEN`, `ACC_RENDEZVOUS_FAILED`, `ACC_PEER_LOST`.
   */
  subgroup(ranks: readonly number[], name: string): RankGroup;
  /** Frees its sockets, memory and threads. */
  close(): void;
}

/** What a process makes its groups with. */
export interface Site {
  readonly store: Store;
  readonly jobToken: string;
  readonly timeoutMs: number;
  /** Of this host, that peers reach it by. */
  readonly address: string;
}

/** Ranks that are to be a group. */
interface Membership {
  /** Alike on all of them, and of no other group. */
  readonly name: string;
  readonly members: readonly Member[];
  /** This one's place among them. */
  readonly rank: number;
}

/** The group of all ranks. Every rank proves that it knows the job's token. */
export async function makeWorld(site: Site, membership: Membership): Promise<RankGroup> {
  const { members, rank } = membership;
  const layout = layoutOf(members, rank);
  const wishes = members.map(({ wish }) => wish);
  const chosen = await agreeOnEngine(wishes, layout, (engine) =>
    ProcessGroup.create(site.store, optionsOf(site, membership, engine), specOf(site, layout, engine)),
  );
  return proved(site, membership, chosen);
}

/** The engine is chosen as for the job: a sub-group that lies in one host takes shared memory where `hierarchical` was asked for. */
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
  return {
    ...chosen,
    members,
    subgroup: (ranks, own) =>
      makeSubgroup(site, {
        name: `${name}/${own}`,
        members: ranks.map((one) => members[one]!),
        rank: ranks.indexOf(rank),
      }),
    close: () => group.close(),
  };
}

/** A group that `auto` cannot have on one engine, it makes on another: their names differ. */
function optionsOf({ timeoutMs }: Site, { name, members, rank }: Membership, engine: Engine): GroupOptions {
  return { name: `${name}/${engine}`, rank, size: members.length, timeoutMs };
}

function specOf({ address }: Site, layout: JobLayout, engine: Engine): EngineSpec {
  switch (engine) {
    case 'shm':
      return { engine };
    case 'mpi':
      return { engine, library: locateMpi()!.path };
    case 'hierarchical':
      return { engine, address, layout };
    default:
      return { engine, address };
  }
}
