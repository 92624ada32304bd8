import type { RunConfig, RunInfo, TrackedArtifact } from '@acc/contract';
import { bytes, int, timestamp } from './message.js';

/** The content of a `wandb_internal.Record`, and the number of its field. */
export interface RecordBody {
  readonly field: number;
  readonly fields: readonly Uint8Array[];
}

export function recordOf(number: number, { field, fields }: RecordBody): Uint8Array {
  return Buffer.concat([int(1, number), bytes(field, fields)]);
}

/** Values by name, each encoded as JSON. */
export type Json = Readonly<Record<string, string>>;

const VALUE_JSON = 16;
const item = (field: number, nameField: number, [key, json]: [string, string]) =>
  bytes(field, [bytes(nameField, key), bytes(VALUE_JSON, json)]);
const items = (field: number, nameField: number, values: Json) =>
  Object.entries(values).map((entry) => item(field, nameField, entry));

const KEY = 1;
/** The field for a key as a path of names. A path of one name keeps dots in the name. */
const NESTED_KEY = 2;

export function header(): RecordBody {
  return { field: 21, fields: [] };
}

export interface WandbRun {
  readonly entity: string | undefined;
  readonly group: string | undefined;
  readonly jobType: string | undefined;
  readonly notes: string | undefined;
  readonly host: string;
  readonly isResumed: boolean;
}

export function runRecord({ id, project, name, tags, startTimeMs }: RunInfo, run: WandbRun): RecordBody {
  const text = (field: number, value: string | undefined) =>
    value === undefined ? [] : [bytes(field, value)];
  const words = Object.entries(tags).map(([key, value]) => (value === '' ? key : `${key}:${value}`));
  return {
    field: 17,
    fields: [
      bytes(1, id),
      ...text(2, run.entity),
      bytes(3, project),
      ...text(6, run.group),
      ...text(7, run.jobType),
      bytes(8, name),
      ...text(9, run.notes),
      ...words.map((word) => bytes(10, word)),
      bytes(13, run.host),
      // W&B orders several files of a run by this time.
      timestamp(17, run.isResumed ? Date.now() : startTimeMs),
      ...(run.isResumed ? [int(18, 1)] : []),
    ],
  };
}

export function configRecord(config: RunConfig): RecordBody {
  const values = Object.entries(config).filter(([, value]) => value !== undefined);
  const json = Object.fromEntries(values.map(([key, value]) => [key, JSON.stringify(value)]));
  return { field: 5, fields: items(1, KEY, json) };
}

/** A history row. `startTimeMs` is that of the run, in milliseconds since 1970. */
export function historyRecord(step: number, timeMs: number, startTimeMs: number, values: Json): RecordBody {
  const own = {
    _step: String(step),
    _runtime: String((timeMs - startTimeMs) / 1000),
    _timestamp: String(timeMs / 1000),
  };
  return { field: 2, fields: [...items(1, NESTED_KEY, { ...values, ...own }), bytes(2, [int(1, step)])] };
}

export function summaryRecord(values: Json): RecordBody {
  return { field: 3, fields: items(1, NESTED_KEY, values) };
}

export function statsRecord(timeMs: number, values: Json): RecordBody {
  return { field: 7, fields: [timestamp(2, timeMs), ...items(3, KEY, values)] };
}

/** Files to upload, by their paths in the run's `files` folder. */
export function filesRecord(paths: readonly string[]): RecordBody {
  return { field: 6, fields: paths.map((path) => bytes(1, [bytes(1, path)])) };
}

export function alertRecord(title: string, text: string): RecordBody {
  return { field: 10, fields: [bytes(1, title), bytes(2, text), bytes(3, 'WARN')] };
}

export function exitRecord(exitCode: number, runtimeSeconds: number): RecordBody {
  return { field: 18, fields: [int(1, exitCode), int(2, Math.round(runtimeSeconds))] };
}

export interface ArtifactIdentity {
  readonly digest: string;
  /** The MD5 of each file, in base64. */
  readonly fileDigests: readonly string[];
  readonly clientId: string;
  readonly sequenceClientId: string;
}

export function artifactRecord(
  { id, project }: RunInfo,
  entity: string | undefined,
  { name, type, files }: TrackedArtifact,
  identity: ArtifactIdentity,
): RecordBody {
  const entries = files.map((file, i) =>
    bytes(4, [
      bytes(1, file.name),
      bytes(2, identity.fileDigests[i]!),
      int(4, file.bytes),
      bytes(6, file.path),
    ]),
  );
  const layout = bytes(3, [bytes(1, 'storageLayout'), bytes(2, '"V2"')]);
  const manifest = [int(1, 1), bytes(2, 'wandb-storage-policy-v1'), layout, ...entries];
  return {
    field: 8,
    fields: [
      bytes(1, id),
      bytes(2, project),
      ...(entity === undefined ? [] : [bytes(3, entity)]),
      bytes(4, type),
      bytes(5, name),
      bytes(6, identity.digest),
      int(9, 1),
      bytes(11, 'latest'),
      bytes(12, manifest),
      int(14, 1),
      bytes(15, identity.clientId),
      bytes(16, identity.sequenceClientId),
    ],
  };
}
