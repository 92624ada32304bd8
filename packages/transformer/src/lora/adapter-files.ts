import { backend, getBackend, tidy, type Tensor } from '@tensorflow/tfjs-core';
import type { LayersModel } from '@tensorflow/tfjs-layers';
import { locationOf, matchExactly, openWeights, fullBox, type WeightReceiver } from '@acc/checkpoint';
import { encodeHeader } from '@acc/checkpoint/safetensors';
import { checkKeys, type StateLayer } from '@acc/contract';
import { kernelLayerOf } from '@acc/kernels';
import { nestedLayers } from '@acc/tfjs-internals';
import { configOrUndefined } from '../models/description.js';
import { hubModule } from '../pretrained/hub-names.js';
import { inFloat32, storedBytes } from '../pretrained/values.js';
import { pathOf, requireAdapters, requireNoAdapters } from './adapted-layers.js';
import { ADAPTER_WEIGHTS, readAdapterConfig, writeAdapterConfig } from './adapter-config.js';
import { adapterWeights, isDense, loraOf, type Dense } from './lora-dense.js';
import { lora, requireModel } from './lora.js';

export interface SaveLoraOptions {
  /**
   * Whether this process writes. Where ranks have shards of the weights, all of them call it, and one
   * writes. Default true.
   */
  readonly write?: boolean;
}

const MATRICES = ['a', 'b'] as const;

/**
 * Writes the adapters of a model, and nothing else of it, in the files and by the names of PEFT:
 * adapter_model.safetensors and adapter_config.json.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_LORA_MISSING`, `ACC_UNKNOWN_OPTION`.
 */
export async function saveLora(
  model: LayersModel,
  folder: string,
  options: SaveLoraOptions = {},
): Promise<void> {
  checkKeys('saveLora', options, ['write']);
  requireModel(model, 'saveLora');
  const layers = requireAdapters(model, 'saveLora');
  const { state } = kernelLayerOf(getBackend(), backend());
  const matrices = layers.flatMap((layer) =>
    MATRICES.map((which) => {
      const weight = adapterWeights(layer)[which];
      const shape = weight.shape.toReversed() as number[];
      return { key: nameOf(moduleOf(layer, model), which), dtype: 'F32' as const, shape, weight };
    }),
  );
  const { bytes: header } = encodeHeader(matrices, { format: 'pt' });
  const parts = [header];
  for (const { weight } of matrices) parts.push(await ownBytes(weight.read(), state));
  if (options.write === false) return;
  const { storage, prefix } = locationOf(folder, undefined);
  await storage.put(prefix + ADAPTER_WEIGHTS, joined(parts));
  const modules = layers.map((layer) => moduleOf(layer, model));
  await writeAdapterConfig(
    folder,
    loraOf(layers[0]!)!,
    modules,
    configOrUndefined(model)?.model_type === 'gpt2',
  );
}

/**
 * Gives a model the adapters of a folder that {@link saveLora} or PEFT wrote. It freezes the model as
 * {@link lora} does, and has to come before `prepare` and `compile`, too.
 *
 * @returns The model itself.
 * @throws AccError as `lora`. `ACC_MODEL_CONFIG_INVALID`, `ACC_ADAPTER_UNSUPPORTED` for other adapters than
 * LoRA's, `ACC_WEIGHTS_MISMATCH` with all matrices that are missing, surplus or misshapen.
 */
export async function loadLora<M extends LayersModel>(model: M, folder: string): Promise<M> {
  requireModel(model, 'loadLora');
  requireNoAdapters(model, 'loadLora');
  const settings = await readAdapterConfig(folder);
  const path = `${folder}/${ADAPTER_WEIGHTS}`;
  const stored = new Set((await openWeights(path)).map(({ name }) => name));
  const chosen = [...nestedLayers(model.layers)]
    .filter(isDense)
    .filter((layer) => MATRICES.some((which) => stored.has(nameOf(moduleOf(layer, model), which))));
  const kernels = kernelLayerOf(getBackend(), backend());
  const assignTo = (layer: Dense, which: 'a' | 'b'): WeightReceiver['assign'] => {
    return ([values]) =>
      tidy(() => {
        adapterWeights(layer)[which].write(inFloat32(values!, kernels));
      });
  };
  const receivers = chosen.flatMap((layer) =>
    MATRICES.map((which) => receiverOf(layer, which, { model, rank: settings.rank, assignTo })),
  );
  const matched = await matchExactly(receivers, path, [], {
    targetOf: (name) => ({ name, permute: [1, 0] }),
    help: 'The adapter belongs to another model, or adapter_config.json to another adapter.',
  });
  lora(model, { ...settings, targets: chosen.map(pathOf) });
  await matched.assign(kernels.state);
  return model;
}

interface ReceiverContext {
  readonly model: LayersModel;
  readonly rank: number;
  assignTo(layer: Dense, which: 'a' | 'b'): WeightReceiver['assign'];
}

/** The layer gets its adapter only when all names and shapes have been found to fit. */
function receiverOf(layer: Dense, which: 'a' | 'b', context: ReceiverContext): WeightReceiver {
  const { model, rank, assignTo } = context;
  const [inputs, units] = layer.kernel.shape as [number, number];
  const shape = which === 'a' ? [inputs, rank] : [rank, units];
  const name = nameOf(moduleOf(layer, model), which);
  return {
    name,
    variable: name,
    shape,
    dtype: 'float32',
    boxes: [fullBox(shape)],
    assign: assignTo(layer, which),
  };
}

/** PEFT's name of the module of a layer. */
function moduleOf(layer: Dense, model: LayersModel): string {
  const config = configOrUndefined(model);
  return config ? hubModule(pathOf(layer), config) : pathOf(layer).replaceAll('/', '.');
}

const nameOf = (module: string, which: 'a' | 'b'): string =>
  `base_model.model.${module}.lora_${which.toUpperCase()}.weight`;

async function ownBytes(value: Tensor, state: StateLayer): Promise<Uint8Array> {
  using opened = await storedBytes(value, [1, 0], state);
  return opened.bytes.slice();
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of parts) {
    all.set(part, end);
    end += part.length;
  }
  return all;
}
