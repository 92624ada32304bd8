import * as z from 'zod';
import { badColumn, type SamplePlace } from '../errors.js';
import { shaped, sizeOf, type ShapedArray } from '../samples/shaped-array.js';
import type { FeatureList } from './example.js';

/** How a feature of `tf.train.Example` becomes a value of the sample. */
export interface FeatureSpec {
  /**
   * `float32`: a FloatList. `int32`: an Int64List, whose values must fit in 32 bits. `string`: a BytesList with text in
   * UTF-8. `bytes`: a BytesList, as `Uint8Array`.
   */
  readonly dtype: 'float32' | 'int32' | 'string' | 'bytes';
  /**
   * The shape of the values, in row-major order. Default `[]`: one value. `'variable'`: a list whose length differs
   * between samples.
   */
  readonly shape?: readonly number[] | 'variable';
  /**
   * For `bytes`: the values are the bytes of a typed array in little-endian order, as `tf.io.decode_raw` reads, and
   * `shape` is its shape.
   */
  readonly raw?: 'uint8' | 'int32' | 'float32';
  /** The value of samples without the feature, in each element. Default: such a sample is an error. */
  readonly default?: number | string;
}

export type FeatureSpecs = Readonly<Record<string, FeatureSpec>>;

type Element = { float32: number; int32: number; string: string; bytes: Uint8Array };
type List = { float32: Float32Array; int32: Int32Array; string: string[]; bytes: Uint8Array[] };
type Numeric = { float32: ShapedArray; int32: ShapedArray; string: string[]; bytes: Uint8Array[] };

/** The value of a feature. */
export type FeatureValue<S extends FeatureSpec> = S extends { readonly raw: string }
  ? ShapedArray
  : S extends { readonly shape: 'variable' }
    ? List[S['dtype']]
    : S extends { readonly shape: readonly [unknown, ...unknown[]] | readonly number[] }
      ? Numeric[S['dtype']]
      : Element[S['dtype']];

export type FeatureValues<S extends FeatureSpecs> = { [K in keyof S]: FeatureValue<S[K]> };

export const featuresSchema = z.record(
  z.string(),
  z
    .strictObject({
      dtype: z.enum(['float32', 'int32', 'string', 'bytes']),
      shape: z.union([z.literal('variable'), z.array(z.int().nonnegative()).readonly()]).default([]),
      raw: z.enum(['uint8', 'int32', 'float32']).optional(),
      default: z.union([z.number(), z.string()]).optional(),
    })
    .refine(({ dtype, raw, shape }) => raw === undefined || (dtype === 'bytes' && shape !== 'variable'), {
      error: "'raw' only for the dtype 'bytes' and a fixed shape",
    })
    .refine(({ dtype, default: value }) => fitsDefault(dtype, value), {
      error: 'a default of the type of the feature: a number, or a string',
    }),
);

export type ResolvedFeatures = Readonly<z.infer<typeof featuresSchema>>;
type ResolvedFeature = ResolvedFeatures[string];

function fitsDefault(dtype: string, value: unknown): boolean {
  if (value === undefined) return true;
  return dtype !== 'bytes' && typeof value === (dtype === 'string' ? 'string' : 'number');
}

const KIND = { float32: 'float', int32: 'int64', string: 'bytes', bytes: 'bytes' } as const;
const LISTS = { bytes: 'a BytesList', float: 'a FloatList', int64: 'an Int64List' } as const;

/** @throws AccError `ACC_DATA_COLUMN`. */
export function featureValue(
  name: string,
  list: FeatureList | undefined,
  spec: ResolvedFeature,
  place: SamplePlace,
): unknown {
  const { shape, raw } = spec;
  const found = list ?? defaultOf(spec);
  if (!found) {
    throw badColumn(place, `the feature '${name}' is missing`, {
      help: 'Give it a default, or leave it out of features.',
    });
  }
  if (found.kind !== KIND[spec.dtype]) {
    const what = `the feature '${name}' is ${LISTS[found.kind]}, and features says ${spec.dtype}`;
    throw badColumn(place, what, {
      help: 'float32 is a FloatList, int32 an Int64List, string and bytes a BytesList.',
    });
  }
  if (raw !== undefined) return rawValue(name, found, spec, place);
  const values = valuesOf(name, found, spec.dtype, place);
  if (shape === 'variable') return values;
  const size = sizeOf(shape);
  if (values.length !== size) {
    const what = `the feature '${name}' has ${values.length} values, and its shape [${shape.join(', ')}] has ${size}`;
    throw badColumn(place, what, { help: "For lists of different lengths: shape: 'variable'." });
  }
  if (shape.length === 0) return values[0];
  return Array.isArray(values) ? nested(values, shape) : shaped(values as Float32Array, shape);
}

function defaultOf({ default: value, dtype, shape }: ResolvedFeature): FeatureList | undefined {
  if (shape === 'variable' && value === undefined) return { kind: KIND[dtype], values: [] as never };
  if (value === undefined) return undefined;
  const size = shape === 'variable' ? 1 : sizeOf(shape);
  const values = new Array<unknown>(size).fill(typeof value === 'string' ? Buffer.from(value) : value);
  return { kind: KIND[dtype], values: values as never };
}

function valuesOf(name: string, list: FeatureList, dtype: FeatureSpec['dtype'], place: SamplePlace) {
  if (list.kind === 'float') return Float32Array.from(list.values);
  if (list.kind === 'int64') return toInt32(name, list.values, place);
  return dtype === 'bytes' ? [...list.values] : list.values.map((bytes) => textOf(name, bytes, place));
}

/** @throws AccError `ACC_DATA_COLUMN` if a value needs more than 32 bits. */
export function toInt32(name: string, values: ArrayLike<number>, place: SamplePlace): Int32Array {
  const result = Int32Array.from(values);
  const wrong = result.findIndex((value, i) => value !== values[i]);
  if (wrong < 0) return result;
  throw badColumn(
    place,
    `the feature '${name}' has the value ${values[wrong]}, which does not fit in int32`,
    {
      help: 'Tensors of tfjs have int32. Write such a number as a string, or in two parts.',
    },
  );
}

function textOf(name: string, bytes: Uint8Array, place: SamplePlace): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw badColumn(place, `the feature '${name}' is no text in UTF-8`, {
      help: "Use the dtype 'bytes'.",
      cause,
    });
  }
}

const RAW = { uint8: Uint8Array, int32: Int32Array, float32: Float32Array };

function rawValue(
  name: string,
  list: FeatureList,
  { raw, shape }: ResolvedFeature,
  place: SamplePlace,
): ShapedArray {
  const bytes = list.kind === 'bytes' && list.values.length === 1 ? list.values[0]! : undefined;
  const array = RAW[raw!];
  const size = sizeOf(shape as readonly number[]) * array.BYTES_PER_ELEMENT;
  if (bytes?.length === size) {
    return shaped(new array(new Uint8Array(bytes).buffer), shape as readonly number[]);
  }
  const given = bytes ? `${bytes.length} bytes` : `${list.values.length} values`;
  throw badColumn(place, `the feature '${name}' has ${given}, and one value of ${size} bytes was expected`);
}

function nested(values: readonly unknown[], shape: readonly number[]): unknown[] {
  const [dim, ...rest] = shape as [number, ...number[]];
  if (rest.length === 0) return [...values];
  const stride = sizeOf(rest);
  return Array.from({ length: dim }, (_, i) => nested(values.slice(i * stride, (i + 1) * stride), rest));
}
