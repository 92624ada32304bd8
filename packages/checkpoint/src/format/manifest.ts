import { AccError, parseJson, type Json } from '@acc/contract';
import * as z from 'zod';
import { STORED_DTYPES } from './dtypes.js';

/**
 * The version that is written. Readers accept it and all earlier versions, and reject later ones.
 */
export const FORMAT_VERSION = 2;
const READ_VERSIONS = [1, FORMAT_VERSION] as const;
const FORMAT = 'acc-checkpoint';

/** The file that makes a checkpoint complete. It is written last. */
export const MARKER = 'checkpoint.json';

const count = z.number().int().nonnegative();
const counts = z.array(count);
const checksum = z.string().regex(/^[0-9a-f]{8}$/);
const json = z.custom<Json>(() => true);

/** Elements of a tensor in one file. */
const part = z.object({
  file: z.string(),
  /** The tensor's key in that safetensors file. */
  key: z.string(),
  /** The offset of the first byte of its elements in that file. */
  start: count,
  offset: counts,
  sizes: counts,
  /** The CRC-32 of each block of `chunkBytes` bytes. */
  crc32: z.array(checksum),
});

const tensor = z.object({ dtype: z.enum(STORED_DTYPES), shape: counts, parts: z.array(part) });

const file = z.object({ name: z.string(), bytes: count });

const run = z.object({
  /** The number of optimizer steps. */
  step: count,
  epoch: count,
  /** The time of the save in ISO 8601 format. */
  savedAt: z.string(),
  /** JSON writes NaN and infinities as null. A diverged run stays readable. */
  metrics: z.record(
    z.string(),
    z
      .number()
      .nullable()
      .transform((value) => value ?? NaN),
  ),
});

const head = { format: z.literal(FORMAT), version: z.literal(READ_VERSIONS), ...run.shape };

const index = z.object({
  ...head,
  worldSize: count,
  chunkBytes: count,
  /** The files that hold tensors. */
  files: z.array(file),
  tensors: z.record(z.string(), tensor),
  shared: json,
  ranks: z.array(json),
});

const marker = z.object({ ...head, index: file.extend({ crc32: checksum }) });

export type StoredPart = Readonly<z.infer<typeof part>>;
export type StoredTensor = Readonly<z.infer<typeof tensor>>;
export type StoredFile = Readonly<z.infer<typeof file>>;
export type RunInfo = Readonly<z.infer<typeof run>>;
export type Index = Readonly<z.infer<typeof index>>;
export type Marker = Readonly<z.infer<typeof marker>>;

/** The files and states that one rank has written. */
export interface RankRecord {
  /** Undefined if the rank had no tensor to write. */
  readonly file: StoredFile | undefined;
  readonly parts: readonly (StoredPart & Omit<StoredTensor, 'parts'> & { readonly name: string })[];
  readonly shared: Json;
  readonly local: Json;
}

/** Combines the records of all ranks, in rank order. */
export function indexOf(records: readonly RankRecord[], info: RunInfo, chunkBytes: number): Index {
  const tensors: Record<string, { dtype: StoredTensor['dtype']; shape: number[]; parts: StoredPart[] }> = {};
  for (const { parts } of records) {
    for (const { name, dtype, shape, ...place } of parts) {
      tensors[name] ??= { dtype, shape: [...shape], parts: [] };
      tensors[name].parts.push(place);
    }
  }
  return {
    format: FORMAT,
    version: FORMAT_VERSION,
    ...info,
    worldSize: records.length,
    chunkBytes,
    files: records.flatMap(({ file: each }) => each ?? []),
    tensors,
    shared: records[0]!.shared,
    ranks: records.map(({ local }) => local),
  };
}

export function markerOf(info: RunInfo, indexFile: Marker['index']): Marker {
  return { format: FORMAT, version: FORMAT_VERSION, ...info, index: indexFile };
}

/** @throws AccError `ACC_CHECKPOINT_INVALID`, `ACC_CHECKPOINT_VERSION`. */
export function parseMarker(bytes: Uint8Array, where: string): Marker {
  return parse(marker, bytes, where);
}

/** @throws AccError `ACC_CHECKPOINT_INVALID`, `ACC_CHECKPOINT_VERSION`. */
export function parseIndex(bytes: Uint8Array, where: string): Index {
  return parse(index, bytes, where);
}

function parse<S extends z.ZodType>(schema: S, bytes: Uint8Array, where: string): z.infer<S> {
  let value: unknown;
  try {
    value = parseJson(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw invalid(where, cause);
  }
  const { version } = (value ?? {}) as { version?: unknown };
  if (typeof version === 'number' && version > FORMAT_VERSION) {
    throw new AccError(
      'ACC_CHECKPOINT_VERSION',
      `${where} has format version ${version}, but this program reads versions up to ${FORMAT_VERSION}.`,
      { help: 'Update @acc/checkpoint.', details: { version } },
    );
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalid(where, result.error);
}

export function invalid(where: string, cause: unknown): AccError {
  const reason = cause instanceof z.ZodError ? z.prettifyError(cause) : (cause as Error).message;
  return new AccError('ACC_CHECKPOINT_INVALID', `${where} is not a valid checkpoint file: ${reason}.`, {
    help: 'The file was cut off or changed after it was written. Bring back an intact copy, or load another checkpoint by its path.',
    cause,
  });
}

export function hexOf(crc32: number): string {
  return crc32.toString(16).padStart(8, '0');
}
