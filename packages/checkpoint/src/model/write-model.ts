import { io, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, checkKeys, type StateLayer, type Storage } from '@acc/contract';
import { modelTargetAt } from '#platform/storages';
import { locationOf, type Location } from '../location.js';
import { modelFilesAt, writeModelJson } from './model-json.js';
import { writeWeights, type WriteWeightsOptions, type WrittenWeight } from './write-weights.js';

export interface WriteModelOptions extends WriteWeightsOptions {
  /**
   * `safetensors` (default): weights in a format that other libraries read, with the topology
   * beside them. `tfjs`: the files that tfjs itself writes.
   */
  readonly format?: 'safetensors' | 'tfjs';
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
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, and the errors of the storage.
 */
export async function writeModel(
  path: string,
  model: WrittenModel,
  options: WriteModelOptions,
  layer: StateLayer,
): Promise<void> {
  checkKeys('saveModel', options, ['format', 'maxShardSize', 'storage']);
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
      await writeWeights(location, weights, options, layer);
      if (topology) await writeModelJson(location, about);
      return;
    }
    case 'tfjs': {
      if (!topology) throw invalid("format: 'tfjs' needs a tf.LayersModel, but only weights were given");
      if (options.maxShardSize !== undefined)
        throw invalid("maxShardSize works only with format: 'safetensors'");
      const { data, specs } = await encodeWhole(weights, layer);
      await modelFilesAt(location).save!({ ...about, weightData: data, weightSpecs: specs });
      return;
    }
    default:
      throw invalid(`format is '${String(format)}'; expected 'safetensors' or 'tfjs'`);
  }
}

/**
 * Encodes all weights at once, because tfjs writes them from one buffer. All of them are in memory.
 */
async function encodeWhole(weights: readonly WrittenWeight[], layer: StateLayer) {
  const tensors: NamedTensor[] = [];
  try {
    for (const { name, dtype, shape, open } of weights) {
      using opened = await open();
      const target = layer.allocate(dtype, shape);
      target.bytes.set(opened.bytes);
      tensors.push({ name, tensor: target.toTensor() });
    }
    return await io.encodeWeights(tensors);
  } finally {
    for (const { tensor } of tensors) tensor.dispose();
  }
}

interface NamedTensor {
  readonly name: string;
  readonly tensor: Tensor;
}

function invalid(problem: string): AccError {
  return new AccError('ACC_INVALID_OPTION', `saveModel: ${problem}.`, {
    help: 'Leave out the options to write safetensors, in shards of the usual size.',
  });
}
