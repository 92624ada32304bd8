import type { TrackedHistogram, TrackedImage } from '@acc/contract';
import { Proto } from './proto.js';

/** Of `tensorflow.DataType`. */
const DT_FLOAT = 1;
const DT_DOUBLE = 2;
const DT_STRING = 7;
/** Of `tensorflow.DataClass`. */
const SCALAR = 1;
const TENSOR = 2;
const BLOB_SEQUENCE = 3;

interface PluginData {
  readonly plugin: string;
  readonly dataClass?: number;
  readonly content?: Proto;
}

/** A `tensorflow.Summary.Value`. */
function valueOf(tag: string, tensor: Proto, { plugin, dataClass, content }: PluginData): Proto {
  const data = new Proto().bytes(1, plugin);
  if (content) data.bytes(2, content);
  const metadata = new Proto().bytes(1, data);
  if (dataClass !== undefined) metadata.varint(4, dataClass);
  return new Proto().bytes(1, tag).bytes(8, tensor).bytes(9, metadata);
}

/** A `tensorflow.TensorProto` without its values. */
function tensorOf(dtype: number, shape: readonly number[]): Proto {
  const dims = new Proto();
  for (const size of shape) dims.bytes(2, new Proto().varint(1, size));
  return new Proto().varint(1, dtype).bytes(2, dims);
}

export function scalar(tag: string, value: number): Proto {
  const tensor = tensorOf(DT_FLOAT, []).bytes(5, Buffer.from(Float32Array.of(value).buffer));
  return valueOf(tag, tensor, { plugin: 'scalars', dataClass: SCALAR });
}

/** Markdown. */
export function text(tag: string, markdown: string): Proto {
  return valueOf(tag, tensorOf(DT_STRING, [1]).bytes(8, markdown), { plugin: 'text', dataClass: TENSOR });
}

export function image(tag: string, { width, height, png }: TrackedImage): Proto {
  const tensor = tensorOf(DT_STRING, [3]).bytes(8, String(width)).bytes(8, String(height)).bytes(8, png);
  return valueOf(tag, tensor, { plugin: 'images', dataClass: BLOB_SEQUENCE });
}

/** Rows of left edge, right edge and count. */
export function histogram(tag: string, { edges, counts }: TrackedHistogram): Proto {
  const rows = Float64Array.from(counts.flatMap((count, i) => [edges[i]!, edges[i + 1]!, count]));
  const tensor = tensorOf(DT_DOUBLE, [counts.length, 3]).bytes(4, new Uint8Array(rows.buffer));
  return valueOf(tag, tensor, { plugin: 'histograms', dataClass: TENSOR });
}

/** A value without meaning, of a plugin whose content is in the metadata. */
function hparamsValue(tag: string, field: number, info: Proto): Proto {
  const tensor = tensorOf(DT_FLOAT, [1]).bytes(5, Buffer.alloc(4));
  return valueOf(tag, tensor, { plugin: 'hparams', content: new Proto().bytes(field, info) });
}

/** `hparams.SessionStartInfo`: hyperparameters by name. */
export function sessionStart(
  hparams: Readonly<Record<string, string | number | boolean>>,
  startTimeMs: number,
  groupName: string,
): Proto {
  const info = new Proto();
  for (const [key, value] of Object.entries(hparams)) {
    info.bytes(1, new Proto().bytes(1, key).bytes(2, anyValue(value)));
  }
  info.bytes(4, groupName).double(5, startTimeMs / 1000);
  return hparamsValue('_hparams_/session_start_info', 3, info);
}

/** `hparams.SessionEndInfo`. */
export function sessionEnd(isSuccess: boolean, endTimeMs: number): Proto {
  const info = new Proto().varint(1, isSuccess ? 1 : 2).double(2, endTimeMs / 1000);
  return hparamsValue('_hparams_/session_end_info', 4, info);
}

/** `google.protobuf.Value`. */
function anyValue(value: string | number | boolean): Proto {
  if (typeof value === 'number') return new Proto().double(2, value);
  return typeof value === 'string' ? new Proto().bytes(3, value) : new Proto().varint(4, Number(value));
}
