import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isAccError, type Collective } from '@acc/contract';
import { indexOf, type Index } from '../format/manifest.js';
import { isOfOneRank } from '../names.js';
import { keyOf } from '../write/items.js';
import { fullTensorsOf } from '../write/full-tensors.js';
import { CHUNK_BYTES } from '../write/write-rank.js';
import { decodeRecord, roundOf, type RescueRecord } from './record.js';

/** This rank's host, to the search for what ranks have kept. */
export interface RescueHost {
  readonly folder: string;
  /** Whether this rank speaks for its host. One rank of each host does. */
  readonly isSpeaker: boolean;
}

/** The states that the ranks of a host have kept, as one of its ranks now reports them. */
interface HostReport {
  /** The rank that reports. */
  readonly rank: number;
  readonly folder: string;
  readonly records: readonly RescueRecord[];
}

/** A record, and the host in whose memory it is. */
export interface HostRecord extends RescueRecord {
  readonly folder: string;
  /** A rank of that host. */
  readonly speaker: number;
}

/** The complete state of a run in the memory of the hosts. */
export interface Rescue {
  readonly step: number;
  readonly epoch: number;
  /** The hosts that have it. */
  readonly hosts: readonly string[];
  /** In the order of the ranks that kept them. */
  readonly records: readonly HostRecord[];
  /** The folders of all hosts. */
  readonly folders: readonly { readonly folder: string; readonly speaker: number }[];
}

/** The result of a search. */
export interface FoundRescue {
  readonly newest: Rescue | undefined;
  /** Why a newer state is not used. */
  readonly problem: string | undefined;
}

/**
 * Finds the newest state that the ranks of an earlier round have kept completely. Every rank calls
 * it, and gets the same.
 */
export function findRescue(collective: Collective, { folder, isSpeaker }: RescueHost): FoundRescue {
  const local: HostReport | null = isSpeaker
    ? { rank: collective.rank, folder, records: recordsIn(folder) }
    : null;
  const reports = collective.allGatherObject(local).filter((report) => report !== null);
  const folders = reports.map((report) => ({ folder: report.folder, speaker: report.rank }));
  const records = reports.flatMap((report) =>
    report.records.map((each): HostRecord => ({ ...each, folder: report.folder, speaker: report.rank })),
  );
  let problem: string | undefined;
  for (const group of newestFirst(records)) {
    const { step, epoch } = group[0]!.info;
    const missing = missingIn(group);
    if (missing === undefined) {
      const hosts = [...new Set(group.filter(hasCommon).map(({ host }) => host))];
      return { newest: { step, epoch, hosts, records: group, folders }, problem };
    }
    problem ??= `the state of step ${step} is not complete in the memory of the hosts: ${missing}`;
  }
  return { newest: undefined, problem };
}

/** The index that this host reads. It prefers files of its own memory. */
export function indexFor(folder: string, { records }: Pick<Rescue, 'records'>): Index {
  const chosen = new Map<string, { readonly at: number; readonly isNear: boolean }>();
  records.forEach((record, at) => {
    const isNear = record.folder === folder;
    for (const part of record.kept.parts) {
      const known = chosen.get(keyOf(part));
      if (!known || (isNear && !known.isNear)) chosen.set(keyOf(part), { at, isNear });
    }
  });
  const kept = records.map((record, at) => {
    const parts = record.kept.parts.filter((part) => chosen.get(keyOf(part))!.at === at);
    return { ...record.kept, parts, file: parts.length > 0 ? record.kept.file : undefined };
  });
  const shared = records.find(hasCommon)!.kept.shared;
  const [first, ...others] = kept;
  return indexOf([{ ...first!, shared }, ...others], records[0]!.info, CHUNK_BYTES);
}

/** Deletes what was kept in rounds before this one. */
export function dropRescues(folder: string, round: number): void {
  for (const name of readdirSync(folder)) {
    const of = roundOf(name);
    if (of !== undefined && of < round) rmSync(join(folder, name), { force: true });
  }
}

const hasCommon = ({ kept }: RescueRecord): boolean => kept.shared !== null;

function recordsIn(folder: string): RescueRecord[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json') && roundOf(name) !== undefined)
    .flatMap((name) => decodeRecord(readFileSync(join(folder, name), 'utf8')) ?? []);
}

/** Records of the same moment of a run, those of the newest moment first. */
function newestFirst(records: readonly HostRecord[]): HostRecord[][] {
  const groups = new Map<string, HostRecord[]>();
  for (const record of records) {
    const key = `${record.info.step}/${record.round}`;
    groups.set(key, [...(groups.get(key) ?? []), record]);
  }
  const [of, at] = [(group: HostRecord[]) => group[0]!.info.step, (group: HostRecord[]) => group[0]!.round];
  return [...groups.values()]
    .map((group) => group.sort((a, b) => a.rank - b.rank))
    .sort((a, b) => of(b) - of(a) || at(b) - at(a));
}

/** The reason why the kept states do not make a complete run. Undefined if they do. */
function missingIn(records: readonly HostRecord[]): string | undefined {
  if (!records.some(hasCommon)) return 'no rank has written its parameters';
  try {
    fullTensorsOf(
      records.map(({ kept }) => kept.parts),
      isOfOneRank,
    );
  } catch (error) {
    if (!isAccError(error, 'ACC_STATE_INVALID')) throw error;
    const [first] = (error.details as { tensors: readonly { name: string }[] }).tensors;
    return `elements of '${first!.name}' were only on ranks that are lost`;
  }
  const stored = new Set(records.flatMap(({ kept }) => kept.parts.map(({ name }) => name)));
  const lost = records.flatMap(({ parameters }) => parameters).filter((name) => !stored.has(name));
  return lost.length > 0 ? `'${lost[0]}' was only on ranks that are lost` : undefined;
}
