import { FramingReader } from '../sources/framing-reader.js';
import type { OnScan } from '../sources/read-forward.js';
import type { Source } from '../sources/source.js';
import { badFormat, type SamplePlace } from '../errors.js';
import { walkTar, type TarMember } from './tar-walk.js';

/** The two parts of the name of a member: the sample, and the field. */
export interface MemberName {
  /** The path up to the first dot of the file name. */
  readonly key: string;
  /** The name after the dot, in lower case: `jpg`, `seg.png`. */
  readonly field: string;
}

/** WebDataset keeps these names for itself. */
const META = /^__[^/]*__($|\/)/;

/** Undefined: the file belongs to no sample, as files do whose names start with a dot or have none. */
export function memberName(path: string): MemberName | undefined {
  if (META.test(path)) return undefined;
  const slash = path.lastIndexOf('/');
  const dot = path.indexOf('.', slash + 1);
  if (dot <= slash + 1) return undefined;
  return { key: path.slice(0, dot), field: path.slice(dot + 1).toLowerCase() };
}

/** Where the samples of a tar file start: consecutive members with the same key are one sample. */
export async function scanSamples(source: Source, onScan: OnScan): Promise<number[]> {
  const reader = new FramingReader(source, onScan);
  const { name: where, bytes: end } = source;
  const starts: number[] = [];
  let key: string | undefined;
  const walk = walkTar(where, { at: 0, end }, ({ name, from }) => {
    const own = memberName(name)?.key;
    if (own === undefined || own === key) return;
    key = own;
    starts.push(from);
  });
  let step = walk.next();
  while (!step.done) {
    const { at, count } = step.value;
    step = walk.next((reader.loaded(at, count) ?? (await reader.bytes(at, count)))!);
  }
  return [...starts, step.value];
}

/** The fields of one sample. */
export interface RawSample {
  readonly key: string;
  /** The content of each field, where it lies. */
  readonly fields: ReadonlyMap<string, Uint8Array>;
}

/** @param bytes From the start of a sample to the start of the next one. */
export function sampleFields(bytes: Uint8Array, place: SamplePlace): RawSample {
  const fields = new Map<string, Uint8Array>();
  let key = '';
  const add = ({ name, at, bytes: size }: TarMember) => {
    const parts = memberName(name);
    if (!parts) return;
    key = parts.key;
    if (fields.has(parts.field))
      throw badFormat(place, `the sample '${key}' has two fields '${parts.field}'`);
    fields.set(parts.field, bytes.subarray(at, at + size));
  };
  const walk = walkTar(place, { at: 0, end: bytes.length }, add);
  let step = walk.next();
  while (!step.done) step = walk.next(bytes.subarray(step.value.at, step.value.at + step.value.count));
  return { key, fields };
}
