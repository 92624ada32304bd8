import { backend, getBackend, ready, tidy, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { LayersModel } from '@tensorflow/tfjs-layers';
import { matchExactly, fullBox, type WeightReceiver } from '@acc/checkpoint';
import { kernelLayerOf, replaceInitial } from '@acc/kernels';
import type { QuantizeOptions, QuantizeVariableOptions } from '@acc/quantization';
import { quantizeWhileLoading } from '@acc/quantization/loading';
import { AccError, isAccError, withoutHelp, type KernelLayer } from '@acc/contract';
import { buildGpt2 } from '../models/gpt2.js';
import { buildLlama } from '../models/llama.js';
import { openPretrained, type OpenedModel } from './open-pretrained.js';
import { requireWeights } from './require-weights.js';
import { hubWeight, wholeName, type HubWeight } from './hub-names.js';
import { inFloat32 } from './values.js';
import { withoutMemory } from './without-memory.js';

/** Draws no random numbers for weights that are loaded. */
const NOTHING_DRAWN = 0;

/** How weights are packed as they are loaded: the options of `quantize`. */
export type LoadPretrainedOptions = Omit<
  QuantizeOptions,
  | 'weights'
  | 'bitsPerWeight'
  | 'algorithm'
  | 'activations'
  | 'calibration'
  | 'observer'
  | 'gptq'
  | 'smoothQuant'
  | 'foldBatchNorm'
> &
  Required<Pick<QuantizeOptions, 'weights'>> &
  Pick<QuantizeVariableOptions, 'algorithm' | 'activations'>;

/**
 * Builds the model that a folder or a file describes, and loads its weights.
 *
 * @param path A folder as on the Hugging Face Hub: config.json of a `gpt2` or `llama`, and
 * model.safetensors, or several files with model.safetensors.index.json. Weights may be packed by
 * compressed-tensors (int4, int8), bitsandbytes (nf4), GPTQ, AWQ (4 bits) or torchao (int8, int4). Or a
 * GGUF file of a Llama, whose name ends with `.gguf`: its tensors may be F32, F16, BF16, Q8_0, Q4_0, Q4_1,
 * Q5_0, Q5_1, Q4_K, Q5_K and Q6_K. Weights of fewer bits become float32.
 * @param options Packs each weight as soon as it is read, as `quantize` would pack it afterwards: the
 * model is never in memory in float32. Default: weights stay float32. Needs the backend `acc`. With
 * `{ weights: 'int8', granularity: { group: 32 } }`, weights of a Q8_0 file keep their numbers and scales.
 * @returns A model as `gpt2` and `llama` give it, not prepared. The caller disposes it.
 * @throws AccError `ACC_MODEL_CONFIG_INVALID`, `ACC_MODEL_UNSUPPORTED`, `ACC_INVALID_OPTION` for what the
 * config or the metadata says; `ACC_WEIGHTS_NOT_FOUND`, `ACC_SAFETENSORS_INVALID`, `ACC_GGUF_INVALID`,
 * `ACC_PACKED_WEIGHTS_INVALID`; `ACC_DTYPE_UNSUPPORTED` for a tensor of another type; `ACC_WEIGHTS_MISMATCH` with all tensors that are
 * missing, surplus or misshapen; all of `quantize`.
 */
export async function loadPretrained(path: string, options?: LoadPretrainedOptions): Promise<LayersModel> {
  await ready();
  const { defer, state } = kernelLayerOf(getBackend(), backend());
  const opened = await openPretrained(path, state);
  requireWeights(opened);
  const built = () => build(opened);
  const model = options && defer ? withoutMemory(defer, built) : built();
  try {
    await loadWeights(model, opened, options && quantizeWhileLoading(model, options));
  } catch (error) {
    model.dispose();
    throw error;
  }
  return model;
}

/** Errors of sizes that do not fit together name the file. */
function build({ config, described }: OpenedModel): LayersModel {
  try {
    return config.model_type === 'gpt2'
      ? buildGpt2(config, NOTHING_DRAWN)
      : buildLlama(config, NOTHING_DRAWN);
  } catch (cause) {
    if (!isAccError(cause)) throw cause;
    const { code, help, details } = cause;
    const message = `${described}: ${withoutHelp(cause.message)}`;
    throw new AccError(code, message, { ...(help !== undefined && { help }), details, cause });
  }
}

/** @param loaded Called when a variable has its values. */
async function loadWeights(
  model: LayersModel,
  { config, described, weights }: OpenedModel,
  loaded: ((variable: Variable) => void) | undefined,
): Promise<void> {
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
    weights,
    [],
    {
      targetOf(stored) {
        const name = wholeName(stored, byName, config);
        const permute = name === undefined ? undefined : byName.get(name)?.permute;
        return name === undefined ? undefined : { name, ...(permute && { permute }) };
      },
      help: `${described} and the weights belong to different models, or a file is missing.`,
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
