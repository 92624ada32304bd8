import { io, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, checkKeys, type StateLayer, type Storage } from '@acc/contract';
import { modelTargetAt } from '#platform/storages';
import { locationOf, type Location } from '../location.js';
import { modelFilesAt, writeModelJson } from './model-json.js';
import {
  quantizedNames,
  quantizeValues,
  type StoredNumbers,
  type WeightQuantization,
} from './quantized-weights.js';
import { writeWeights, type WriteWeightsOptions, type WrittenWeight } from './write-weights.js';

export interface WriteModelOptions extends WriteWeightsOptions {
  /**
   * `safetensors` (default): weights in a format that other libraries read, with the topology
   * beside them. `tfjs`: the files that tfjs itself writes.
   */
  readonly format?: 'safetensors' | 'tfjs';
  /**
   * With `tfjs`: weights of fewer bits, as tfjs's converter writes them. tfjs makes float32 of them when it
   * loads them. Default: all weights are stored as they are.
   */
  readonly quantization?: WeightQuantization | undefined;
  /** Replaces the file system. */
  readonly storage?: Storage;
}

/** A model whose weights are available whole, one at a time. */
export interface WrittenModel {
  /**
   * The configuration from which tfjs-layers builds the model. Undefined if only weights are
   * written.
   */
  readonly topology: object | undefined;
  readonly weights: readonly WrittenWeight[];
}

/** The format name that tfjs-layers expects. */
const LAYERS_MODEL = 'layers-model';

/**
 * Writes a model for use outside of the training run. `tf.loadLayersModel(modelFiles(path))` reads
 * both formats.
 *
 * @param path A folder. In a page also `downloads://name`, which downloads `name.zip`.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_QUANTIZE_VALUES`, and the errors of the
 * storage.
 */
export async function writeModel(
  path: string,
  model: WrittenModel,
  options: WriteModelOptions,
  layer: StateLayer,
): Promise<void> {
  checkKeys('saveModel', options, ['format', 'maxShardSize', 'quantization', 'storage']);
  if (options.storage) return await writeTo(locationOf(path, options.storage), model, options, layer);
  const { storage, finish } = modelTargetAt(path);
  await writeTo({ storage, prefix: '' }, model, options, layer);
  await finish();
}

async function writeTo(
  location: Location,
  { topology, weights }: WrittenModel,
  options: WriteModelOptions,
  layer: StateLayer,
): Promise<void> {
  const { format = 'safetensors' } = options;
  const about = {
    modelTopology: topology,
    format: LAYERS_MODEL,
    generatedBy: '@acc/checkpoint',
    convertedBy: null,
  };
  switch (format) {
    case 'safetensors': {
      if (options.quantization !== undefined) throw invalid("quantization works only with format: 'tfjs'");
      await writeWeights(location, weights, options, layer);
      if (topology) await writeModelJson(location, about);
      return;
    }
    case 'tfjs': {
      if (!topology) throw invalid("format: 'tfjs' needs a tf.LayersModel, but only weights were given");
      if (options.maxShardSize !== undefined)
        throw invalid("maxShardSize works only with format: 'safetensors'");
      const { data, specs } = await encodeWhole(weights, options.quantization, layer);
      await modelFilesAt(location).save!({ ...about, weightData: data, weightSpecs: specs });
      return;
    }
    default:
      throw invalid(`format is '${String(format)}'; expected 'safetensors' or 'tfjs'`);
  }
}

/**
 * Encodes all weights before the first file is written. All of them are in memory.
 */
async function encodeWhole(
  weights: readonly WrittenWeight[],
  quantization: WeightQuantization | undefined,
  layer: StateLayer,
): Promise<{ data: ArrayBuffer[]; specs: io.WeightsManifestEntry[] }> {
  const quantized = quantization === undefined ? undefined : quantizedNames(quantization, weights);
  const [data, specs]: [ArrayBuffer[], io.WeightsManifestEntry[]] = [[], []];
  for (const weight of weights) {
    const tensor = await tensorOf(weight, layer);
    try {
      const numbers = quantized?.get(weight.name);
      const encoded = await encode(weight.name, tensor, numbers);
      // tfjs loses the bytes that follow an empty buffer at the beginning.
      if (encoded.data.byteLength > 0) data.push(encoded.data);
      specs.push(encoded.spec);
    } finally {
      tensor.dispose();
    }
  }
  return { data: data.length > 0 ? data : [new ArrayBuffer(0)], specs };
}

async function tensorOf({ dtype, shape, open }: WrittenWeight, layer: StateLayer): Promise<Tensor> {
  using opened = await open();
  const target = layer.allocate(dtype, shape);
  target.bytes.set(opened.bytes);
  return target.toTensor();
}

async function encode(
  name: string,
  tensor: Tensor,
  numbers: StoredNumbers | undefined,
): Promise<{ data: ArrayBuffer; spec: io.WeightsManifestEntry }> {
  if (numbers) {
    const { data, quantization } = quantizeValues(name, (await tensor.data()) as Float32Array, numbers);
    return { data, spec: { name, shape: tensor.shape, dtype: 'float32', quantization } };
  }
  const { data, specs } = await io.encodeWeights([{ name, tensor }]);
  return { data, spec: specs[0]! };
}

function invalid(problem: string): AccError {
  return new AccError('ACC_INVALID_OPTION', `saveModel: ${problem}.`, {
    help: 'Leave out the options to write safetensors, in shards of the usual size.',
  });
}
