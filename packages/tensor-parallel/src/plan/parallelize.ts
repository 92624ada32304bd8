import { isPrepared, matchesGlob, parallelPartsOf, preparationOf, type ParallelPart } from '@acc/contract';
import { nestedLayers } from '@acc/tfjs-internals';
import { invalidPlan } from '../errors.js';
import { isSequence, markSequence, unmarkSequence } from '../sequence.js';
import { cutAll } from './auto.js';
import { mark, markOf } from '../marks.js';
import { tooLate } from '../too-late.js';
import { cutLayer, replicate, type PlannedLayer } from './layer-cuts.js';

const STYLES = ['column', 'row', 'vocab', 'replicated', 'sequence'] as const;

/**
 * `column` and `row`: the columns or the rows of the weight are cut. `vocab`: the tokens of an
 * embedding, or of the logits. `sequence`: the layer computes on a shard of the sequence.
 */
export type ParallelStyle = (typeof STYLES)[number];

/** `auto`, or how layers are cut, by their names or globs: `*` for any characters but `/`, `**` for any. */
export type ParallelPlan = 'auto' | Readonly<Record<string, ParallelStyle>>;

/**
 * States how the layers of a model are computed by the ranks of the mesh's axis `tensor` together.
 * Call it before `prepare`; it takes effect there. Layers that no pattern names are whole on every
 * rank. Without that axis it has no effect, which a warning tells on several ranks unless
 * `mesh.tensor` is 1. Returns the model.
 *
 * @throws AccError `ACC_TENSOR_PARALLEL_PLAN` for two patterns of one layer, a pattern that matches
 * none, a layer that cannot be cut so, a model in which `auto` finds nothing to cut, a model that has
 * another plan already, and a prepared model.
 */
export function parallelize<M extends object>(model: M, plan: ParallelPlan): M {
  const { layers } = model as { readonly layers?: readonly unknown[] };
  if (!Array.isArray(layers)) throw noModel();
  const named = [...nestedLayers(layers)].filter(isLayer);
  requireNoPlan(model, named, plan);
  const marks = named
    .flatMap(({ weights }) => weights.map((weight) => weight.read()))
    .map((variable) => [variable, markOf(variable)] as const);
  const sequences = new Set<object>(named.filter(isSequence));
  try {
    apply(named, plan);
  } catch (error) {
    for (const layer of named) if (!sequences.has(layer)) unmarkSequence(layer);
    for (const [variable, before] of marks)
      if (markOf(variable) !== before) mark('parallelize', variable, before);
    throw error;
  }
  plans.set(model, textOf(plan));
  return model;
}

function apply(named: readonly PlannedLayer[], plan: ParallelPlan): void {
  if (plan === 'auto') {
    const kept = cutAll(named);
    if (kept) throw autoCutsNothing(kept);
    return;
  }
  if (typeof plan !== 'object' || plan === null) throw noPlan(plan);
  const chosen = choose(named, plan);
  const parts = partsIn(named);
  for (const layer of named) {
    const style = chosen.get(layer)?.style ?? 'replicated';
    if (style === 'sequence') markSequence(layer);
    else if (style !== 'replicated') cutLayer(layer, style, { part: parts.get(layer) });
    else if (chosen.has(layer)) replicate(layer);
  }
}

/** The same for plans with the same patterns, in any order. */
const textOf = (plan: ParallelPlan): string =>
  JSON.stringify(plan === 'auto' ? plan : Object.fromEntries(Object.entries(plan).sort()));

/** The plan of a model that was marked. */
const plans = new WeakMap<object, string>();

/**
 * A second plan would leave the marks of the first where it has none. After the Accelerator of the
 * first has ended, it takes its place.
 */
function requireNoPlan(model: object, layers: readonly PlannedLayer[], plan: ParallelPlan): void {
  const before = plans.get(model);
  if (before === undefined || before === textOf(plan)) return;
  const variables = layers.flatMap(({ weights }) => weights.map((weight) => weight.read()));
  const prepared = variables.find(isPrepared);
  if (prepared) throw tooLate('parallelize', prepared.name);
  if (!variables.some(preparationOf)) throw planTwice(before);
  for (const layer of layers) {
    replicate(layer);
    unmarkSequence(layer);
  }
}

interface Choice {
  readonly pattern: string;
  readonly style: ParallelStyle;
}

/** The style of each layer that a pattern names. */
function choose(
  layers: readonly PlannedLayer[],
  plan: Readonly<Record<string, ParallelStyle>>,
): Map<PlannedLayer, Choice> {
  const chosen = new Map<PlannedLayer, Choice>();
  for (const [pattern, style] of Object.entries(plan)) {
    if (!STYLES.includes(style)) throw unknownStyle(pattern, style);
    const matching = layers.filter(({ name }) => matchesGlob(name, pattern));
    if (matching.length === 0) throw matchesNothing(pattern, layers);
    for (const layer of matching) {
      const before = chosen.get(layer);
      if (before) throw twice(layer, [before.pattern, pattern]);
      chosen.set(layer, { pattern, style });
    }
  }
  return chosen;
}

/** The statements of layers about the layers within them. */
function partsIn(layers: readonly PlannedLayer[]): Map<object, ParallelPart> {
  const parts = layers.flatMap((layer) => parallelPartsOf(layer) ?? []);
  return new Map(parts.map((part) => [part.layer, part]));
}

function isLayer(candidate: object): candidate is PlannedLayer {
  const { name, weights } = candidate as Partial<PlannedLayer>;
  return typeof name === 'string' && Array.isArray(weights);
}

function planTwice(before: string) {
  return invalidPlan(
    `the model has another plan already: ${before}.`,
    'Give one plan with all patterns, in one call. To drop a plan, make the model again.',
  );
}

function noModel() {
  return invalidPlan(
    'the first argument has no layers.',
    'Give a tf.LayersModel. For a plain program, use cut().',
  );
}

function noPlan(plan: unknown) {
  return invalidPlan(
    `the plan is ${String(plan)}.`,
    "Give 'auto', or a record such as { 'dense_1': 'column', 'dense_2': 'row' }.",
  );
}

function unknownStyle(pattern: string, style: unknown) {
  return invalidPlan(
    `'${pattern}' is '${String(style)}'; expected one of ${STYLES.join(', ')}.`,
    'Correct the style.',
    {
      pattern,
      style: String(style),
    },
  );
}

function autoCutsNothing(kept: readonly string[]) {
  const shown = kept.length > 20 ? [...kept.slice(0, 20), '…'] : kept;
  return invalidPlan(
    `'auto' finds nothing to cut in this model. ${shown.length > 0 ? `It leaves whole:\n${shown.map((each) => `  ${each}`).join('\n')}` : 'No layer has weights.'}`,
    "Give a plan by names, such as { 'dense_1': 'column', 'dense_2': 'row' }, or leave parallelize and the axis tensor out.",
    { kept: [...kept] },
  );
}

function matchesNothing(pattern: string, layers: readonly PlannedLayer[]) {
  const names = layers.map(({ name }) => name);
  const shown = names.length > 20 ? [...names.slice(0, 20), '…'] : names;
  return invalidPlan(
    `no layer has a name that matches '${pattern}'.`,
    `Names of layers: ${shown.join(', ')}. '*' stands for any characters but '/', '**' for any: '**/c_fc'.`,
    { pattern },
  );
}

function twice({ name }: PlannedLayer, patterns: readonly string[]) {
  return invalidPlan(
    `the layer '${name}' matches '${patterns[0]}' and '${patterns[1]}'.`,
    'Make the patterns narrower, so that each layer has one style.',
    { layer: name, patterns: [...patterns] },
  );
}
