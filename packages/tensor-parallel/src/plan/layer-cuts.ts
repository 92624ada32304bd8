import type { Variable } from '@tensorflow/tfjs-core';
import { type ParallelPart, type WeightCut } from '@acc/contract';
import { invalidPlan } from '../errors.js';
import { mark, unmark } from '../marks.js';

/** The members of a tfjs-layers layer that plans read. */
export interface PlannedLayer {
  readonly name: string;
  readonly weights: readonly { readonly originalName?: string; readonly name: string; read(): Variable }[];
  getClassName(): string;
}

/** The dim along which a weight of a layer is cut, by the end of its name. */
const DIMS: Readonly<Record<WeightCut, Readonly<Record<string, number>>>> = {
  column: { kernel: 1, recurrent_kernel: 1, bias: 0, embeddings: 1, lora_B: 1 },
  row: { kernel: 0, lora_A: 0 },
  vocab: { kernel: 1, bias: 0, embeddings: 0, lora_B: 1 },
};

/** Dense layers, without and with a low-rank adapter: x·W + x·A·B. */
const DENSE: ReadonlySet<string> = new Set(['Dense', 'LoraDense']);

/** Recurrent layers, with the number of their gates. Columns of the gates lie side by side. */
const GATES: ReadonlyMap<string, number> = new Map([
  ['LSTM', 4],
  ['GRU', 3],
  ['SimpleRNN', 1],
]);

/** Classes of layers whose weights can be cut without knowing more. */
const CLASSES: ReadonlySet<string> = new Set([...DENSE, 'Embedding', 'TokenEmbedding', ...GATES.keys()]);

export const isDense = (layer: PlannedLayer): boolean => DENSE.has(layer.getClassName());

/** Whether a layer is of a class that {@link cutLayer} can cut so. */
export function canCut(layer: PlannedLayer, cut: WeightCut): boolean {
  const className = layer.getClassName();
  return CLASSES.has(className) && (!GATES.has(className) || cut === 'column');
}

/** Whether a layer is recurrent and can be cut by its units. */
export const isRecurrent = (layer: PlannedLayer): boolean => GATES.has(layer.getClassName());

/**
 * Marks the weights of a layer.
 *
 * @param part What an outer layer states about it.
 * @throws AccError `ACC_TENSOR_PARALLEL_PLAN` for a layer that cannot be cut so, or is prepared.
 */
export function cutLayer(
  layer: PlannedLayer,
  cut: WeightCut,
  {
    part,
    isOptional = false,
  }: { readonly part?: ParallelPart | undefined; readonly isOptional?: boolean } = {},
): void {
  if (!canCut(layer, cut)) throw cannotCut(layer, cut);
  if (layer.weights.length === 0) throw notBuilt(layer);
  const dims = DIMS[cut];
  const found = layer.weights.flatMap((weight) => {
    const role = roleOf(weight.originalName ?? weight.name);
    return role in dims ? [{ variable: weight.read(), role }] : [];
  });
  if (!found.some(({ role }) => role !== 'bias')) throw cannotCut(layer, cut);
  for (const { variable, role } of found) {
    mark('parallelize', variable, {
      axis: 'tensor',
      dim: dims[role]!,
      times: GATES.get(layer.getClassName()) ?? (part?.cut === cut ? (part.times ?? 1) : 1),
      ...(part?.units && { units: part.units }),
      ...(isOptional && { isOptional }),
    });
  }
}

/** Leaves the weights of a layer whole. */
export function replicate({ weights }: PlannedLayer): void {
  for (const weight of weights) unmark(weight.read());
}

/** `kernel` of `dense_1/kernel` and of `dense_1/kernel_2`. */
const roleOf = (name: string): string => name.split('/').at(-1)!.replace(/_\d+$/, '');

function cannotCut(layer: PlannedLayer, cut: WeightCut) {
  const kind = layer.getClassName();
  return invalidPlan(
    `the layer '${layer.name}' is a ${kind}, which cannot be cut as '${cut}'.`,
    "'column' and 'row' are for dense layers, 'column' for recurrent layers, 'vocab' and 'column' for embeddings, and 'vocab' for the dense layer of logits. Name the layers within a layer by their own names, such as 'h.*/attn/c_attn', or use cut() on its variables.",
    { layer: layer.name, className: kind, cut },
  );
}

function notBuilt({ name }: PlannedLayer) {
  return invalidPlan(
    `the layer '${name}' has no weights yet.`,
    'Build the model first: give its first layer an inputShape.',
    {
      layer: name,
    },
  );
}
