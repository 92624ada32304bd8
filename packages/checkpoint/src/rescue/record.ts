import { crc32 } from '@acc/platform';
import { hexOf, type RankRecord, type RunInfo } from '../format/manifest.js';

/** A rank's record of the state that it kept when its round ended. */
export interface RescueRecord {
  /** Counts the starts of the job. */
  readonly round: number;
  readonly rank: number;
  readonly host: string;
  readonly info: RunInfo;
  /** The names of all parameters, also of those of which the rank has no element. */
  readonly parameters: readonly string[];
  readonly kept: RankRecord;
}

/** The names of the files in the folder of a host. */
export const rescueNames = {
  tensors: (round: number, rank: number) => `${round}-${rank}.safetensors`,
  record: (round: number, rank: number) => `${round}-${rank}.json`,
  /** Created by the rank that writes what the ranks of a host have in common. */
  claim: (round: number, step: number) => `${round}-step-${step}.claim`,
  /** Created by the rank that reports that the memory of a host does not suffice. Empty. */
  refusal: (round: number) => `${round}-refusal.claim`,
};

/** The round of a file, or undefined if it is no such file. */
export function roundOf(name: string): number | undefined {
  const found = /^(\d+)-(?:\d+\.(?:safetensors|json)|(?:step-\d+|refusal)\.claim)(?:\.unfinished)?$/.exec(
    name,
  );
  return found ? Number(found[1]) : undefined;
}

/** The record, after a line with its checksum. */
export function encodeRecord(record: RescueRecord): Uint8Array {
  const json = JSON.stringify(record);
  return new TextEncoder().encode(`${checksumOf(json)}\n${json}`);
}

/** Returns undefined for a text that is not complete. */
export function decodeRecord(text: string): RescueRecord | undefined {
  const end = text.indexOf('\n');
  const json = text.slice(end + 1);
  return end > 0 && text.slice(0, end) === checksumOf(json) ? (JSON.parse(json) as RescueRecord) : undefined;
}

const checksumOf = (json: string): string => hexOf(crc32(new TextEncoder().encode(json)));
