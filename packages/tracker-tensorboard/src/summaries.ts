import { create, toBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { ValueSchema as AnyValueSchema, type Value as AnyValue } from '@bufbuild/protobuf/wkt';
import type { TrackedHistogram, TrackedImage } from '@acc/contract';
import { HParamsPluginDataSchema, Status } from './generated/hparams_pb.js';
import {
  DataClass,
  DataType,
  type Summary_ValueSchema,
  type TensorProtoSchema,
} from './generated/tensorboard_pb.js';

/** A value that is logged under one tag. */
export type SummaryValue = MessageInitShape<typeof Summary_ValueSchema>;

interface PluginData {
  readonly pluginName: string;
  readonly dataClass?: DataClass;
  readonly content?: Uint8Array;
}

function valueOf(
  tag: string,
  tensor: MessageInitShape<typeof TensorProtoSchema>,
  { dataClass, ...pluginData }: PluginData,
): SummaryValue {
  return { tag, value: { case: 'tensor', value: tensor }, metadata: { pluginData, dataClass } };
}

const shapeOf = (...sizes: number[]) => ({ dim: sizes.map((size) => ({ size: BigInt(size) })) });

export function scalar(tag: string, value: number): SummaryValue {
  const tensor = { dtype: DataType.DT_FLOAT, tensorShape: {}, floatVal: [value] };
  return valueOf(tag, tensor, { pluginName: 'scalars', dataClass: DataClass.SCALAR });
}

/** A text value. TensorBoard renders it as Markdown. */
export function text(tag: string, markdown: string): SummaryValue {
  const tensor = { dtype: DataType.DT_STRING, tensorShape: shapeOf(1), stringVal: [Buffer.from(markdown)] };
  return valueOf(tag, tensor, { pluginName: 'text', dataClass: DataClass.TENSOR });
}

export function image(tag: string, { width, height, png }: TrackedImage): SummaryValue {
  const stringVal = [Buffer.from(String(width)), Buffer.from(String(height)), png];
  const tensor = { dtype: DataType.DT_STRING, tensorShape: shapeOf(3), stringVal };
  return valueOf(tag, tensor, { pluginName: 'images', dataClass: DataClass.BLOB_SEQUENCE });
}

/** A histogram value. Each row holds the left edge, right edge and count of a bin. */
export function histogram(tag: string, { edges, counts }: TrackedHistogram): SummaryValue {
  const rows = Float64Array.from(counts.flatMap((count, i) => [edges[i]!, edges[i + 1]!, count]));
  const tensor = {
    dtype: DataType.DT_DOUBLE,
    tensorShape: shapeOf(counts.length, 3),
    tensorContent: new Uint8Array(rows.buffer),
  };
  return valueOf(tag, tensor, { pluginName: 'histograms', dataClass: DataClass.TENSOR });
}

/** The graph of a Keras model, which TensorBoard draws from the model's JSON. */
export function kerasGraph(tag: string, json: string): SummaryValue {
  const tensor = { dtype: DataType.DT_STRING, tensorShape: {}, stringVal: [Buffer.from(json)] };
  return valueOf(tag, tensor, { pluginName: 'graph_keras_model', content: Buffer.from('1') });
}

/** An empty value of the HParams plugin, whose content is in the metadata. */
function hparamsValue(
  tag: string,
  data: MessageInitShape<typeof HParamsPluginDataSchema>['data'],
): SummaryValue {
  const tensor = { dtype: DataType.DT_FLOAT, tensorShape: shapeOf(1), floatVal: [0] };
  const content = toBinary(HParamsPluginDataSchema, create(HParamsPluginDataSchema, { data: data! }));
  return valueOf(tag, tensor, { pluginName: 'hparams', content });
}

/** The start of a session, with its hyperparameters by name. */
export function sessionStart(
  hparams: Readonly<Record<string, string | number | boolean>>,
  startTimeMs: number,
  groupName: string,
): SummaryValue {
  const values = Object.entries(hparams).map(([key, value]) => [key, anyValue(value)] as const);
  const value = { hparams: Object.fromEntries(values), groupName, startTimeSecs: startTimeMs / 1000 };
  return hparamsValue('_hparams_/session_start_info', { case: 'sessionStartInfo', value });
}

export function sessionEnd(isSuccess: boolean, endTimeMs: number): SummaryValue {
  const status = isSuccess ? Status.SUCCESS : Status.FAILURE;
  const value = { status, endTimeSecs: endTimeMs / 1000 };
  return hparamsValue('_hparams_/session_end_info', { case: 'sessionEndInfo', value });
}

function anyValue(value: string | number | boolean): AnyValue {
  if (typeof value === 'number') return create(AnyValueSchema, { kind: { case: 'numberValue', value } });
  if (typeof value === 'boolean') return create(AnyValueSchema, { kind: { case: 'boolValue', value } });
  return create(AnyValueSchema, { kind: { case: 'stringValue', value } });
}
