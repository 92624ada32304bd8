import { backend, getBackend, ready, tidy, type Variable } from '@tensorflow/tfjs-core';
import type { LayersModel } from '@tensorflow/tfjs-layers';
import { matchExactly, fullBox, type WeightReceiver } from '@acc/checkpoint';
import { kernelLayerOf } from '@acc/kernels';
import { AccError, isAccError, withoutHelp, type KernelLayer } from '@acc/contract';
import type { ModelConfig } from '../models/description.js';
import { buildGpt2 } from '../models/gpt2.js';
import { buildLlama } from '../models/llama.js';
import { readConfig } from './config-file.js';
import { requireWeights } from './require-weights.js';
import { hubWeight, wholeName, type HubWeight } from './hub-names.js';
import { inFloat32 } from './values.js';

/** Draws no random numbers for weights that are loaded. */
const NOTHING_DRAWN = 0;

/**
 * Builds the model that a folder describes, and loads its weights.
 *
 * @param folder A folder as on the Hugging Face Hub: config.json of a `gpt2` or `llama`, and
 * model.safetensors, or several files with model.safetensors.index.json. Weights that are bfloat16 or
 * float16 become float32.
 * @returns A model as `gpt2` and `llama` give it, not prepared. The caller disposes it.
 * @throws AccError `ACC_MODEL_CONFIG_INVALID`, `ACC_MODEL_UNSUPPORTED`, `ACC_INVALID_OPTION` for what the
 * config says; `ACC_WEIGHTS_NOT_FOUND`, `ACC_SAFETENSORS_INVALID`; `ACC_WEIGHTS_MISMATCH` with all
 * tensors that are missing, surplus or misshapen.
 */
export async function loadPretrained(folder: string): Promise<LayersModel> {
  const config = await readConfig(folder);
  await requireWeights(folder, config);
  await ready();
  const model = build(folder, config);
  try {
    await loadWeights(model, folder, config);
  } catch (error) {
    model.dispose();
    throw error;
  }
  return model;
}

/** Errors of sizes that do not fit together name the file. */
function build(folder: string, config: ModelConfig): LayersModel {
  try {
    return config.model_type === 'gpt2'
      ? buildGpt2(config, NOTHING_DRAWN)
      : buildLlama(config, NOTHING_DRAWN);
  } catch (cause) {
    if (!isAccError(cause)) throw cause;
    const { code, help, details } = cause;
    const message = `${folder}/config.json: ${withoutHelp(cause.message)}`;
    throw new AccError(code, message, { ...(help !== undefined && { help }), details, cause });
  }
}

async function loadWeights(model: LayersModel, folder: string, config: ModelConfig): Promise<void> {
  const kernels = kernelLayerOf(getBackend(), backend());
  const named = model.weights.map((weight) => ({
    ...hubWeight(weight.originalName, config),
    variable: weight.read() as Variable,
  }));
  const byName = new Map<string, HubWeight>(named.map((weight) => [weight.name, weight]));
  const matched = await matchExactly(
    named.map(({ name, variable }) => receiverOf(name, variable, kernels)),
    folder,
    [],
    {
      targetOf(stored) {
        const name = wholeName(stored, byName, config);
        const permute = name === undefined ? undefined : byName.get(name)?.permute;
        return name === undefined ? undefined : { name, ...(permute && { permute }) };
      },
      help: 'config.json and the weights belong to different models, or a file is missing.',
    },
  );
  await matched.assign(kernels.state);
}

function receiverOf(name: string, variable: Variable, kernels: KernelLayer): WeightReceiver {
  const { shape, dtype } = variable;
  return {
    name,
    variable: variable.name,
    shape,
    dtype,
    boxes: [fullBox(shape)],
    assign: ([values]) => tidy(() => variable.assign(inFloat32(values!, kernels))),
  };
}
