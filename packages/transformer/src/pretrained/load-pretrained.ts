import { backend, getBackend, ready, tidy, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { LayersModel } from '@tensorflow/tfjs-layers';
import { matchExactly, fullBox, type WeightReceiver } from '@acc/checkpoint';
import { kernelLayerOf, replaceInitial } from '@acc/kernels';
import type { QuantizeOptions } from '@acc/quantization';
import { quantizeWhileLoading } from '@acc/quantization/loading';
import { AccError, isAccError, withoutHelp, type KernelLayer } from '@acc/contract';
import type { ModelConfig } from '../models/description.js';
import { buildGpt2 } from '../models/gpt2.js';
import { buildLlama } from '../models/llama.js';
import { readConfig } from './config-file.js';
import { requireWeights } from './require-weights.js';
import { hubWeight, wholeName, type HubWeight } from './hub-names.js';
import { inFloat32 } from './values.js';
import { withoutMemory } from './without-memory.js';

/** Draws no random numbers for weights that are loaded. */
const NOTHING_DRAWN = 0;

/** How weights are packed as they are loaded: the options of `quantize`. */
export type LoadPretrainedOptions = Omit<QuantizeOptions, 'weights' | 'bitsPerWeight'> &
  Required<Pick<QuantizeOptions, 'weights'>>;

/**
 * Builds the model that a folder describes, and loads its weights.
 *
 * @param folder A folder as on the Hugging Face Hub: config.json of a `gpt2` or `llama`, and
 * model.safetensors, or several files with model.safetensors.index.json. Weights that are bfloat16 or
 * float16 become float32.
 * @param options Packs each weight as soon as it is read, as `quantize` would pack it afterwards: the
 * model is never in memory in float32. Default: weights stay float32. Needs the backend `acc`.
 * @returns A model as `gpt2` and `llama` give it, not prepared. The caller disposes it.
 * @throws AccError `ACC_MODEL_CONFIG_INVALID`, `ACC_MODEL_UNSUPPORTED`, `ACC_INVALID_OPTION` for what the
 * config says; `ACC_WEIGHTS_NOT_FOUND`, `ACC_SAFETENSORS_INVALID`; `ACC_WEIGHTS_MISMATCH` with all
 * tensors that are missing, surplus or misshapen; all of `quantize`.
 */
export async function loadPretrained(folder: string, options?: LoadPretrainedOptions): Promise<LayersModel> {
  const config = await readConfig(folder);
  await requireWeights(folder, config);
  await ready();
  const { defer } = kernelLayerOf(getBackend(), backend());
  const built = () => build(folder, config);
  const model = options && defer ? withoutMemory(defer, built) : built();
  try {
    await loadWeights(model, folder, { config, loaded: options && quantizeWhileLoading(model, options) });
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

interface Loading {
  readonly config: ModelConfig;
  /** Called when a variable has its values. */
  readonly loaded: ((variable: Variable) => void) | undefined;
}

async function loadWeights(model: LayersModel, folder: string, { config, loaded }: Loading): Promise<void> {
  const kernels = kernelLayerOf(getBackend(), backend());
  const named = model.weights.map((weight) => ({
    ...hubWeight(weight.originalName, config),
    variable: weight.read() as Variable,
  }));
  const byName = new Map<string, HubWeight>(named.map((weight) => [weight.name, weight]));
  const matched = await matchExactly(
    named.map(({ name, variable }) => {
      const receiver = receiverOf(name, variable, kernels);
      const assign = (values: readonly Tensor[]) => {
        receiver.assign(values);
        loaded?.(variable);
      };
      return { ...receiver, assign };
    }),
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
    assign: ([values]) =>
      tidy(() => replaceInitial(variable, () => variable.assign(inFloat32(values!, kernels)))),
  };
}
