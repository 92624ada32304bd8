import { nextFrame } from '@tensorflow/tfjs-core';
import { requireAcc } from '@acc/kernels';
import { tensorFrom, type Tensor as NativeTensor } from '@acc/native';
import { freezeWeight, layersOfModels, nestedLayers } from '@acc/tfjs-internals';
import { gptqMatrix, outputPowers, type OutputPowers } from './gptq/gptq-weights.js';
import { withFactors, type Run, type RunLayer } from './layer-run.js';
import { statisticsOf, type LayerStatistics } from './layer-statistics.js';
import { pack } from './pack.js';
import { decibels, reportOf, type LayerReport, type PackedFacts } from './report.js';
import { awqScale } from './scaling/awq.js';
import { asMatrix } from './storage.js';

/** Packs the layers of a stage with the inputs that they get once those of earlier stages are packed. */
export async function packedInStages(run: Run, planned: readonly RunLayer[]): Promise<LayerReport[]> {
  const reports = new Map<RunLayer, LayerReport>();
  for (const stage of stagesOf(run, planned)) {
    using found = usesRows(run) ? statisticsOf(run.model, run.batches!, stage, needsOf(run)) : undefined;
    for (const layer of stage) {
      reports.set(layer, packedLayer(layer, run, found?.of(layer)));
      // The program's timers and messages get a turn.
      await nextFrame();
    }
  }
  return planned.map((layer) => reports.get(layer)!);
}

/** Whether layers are packed by the rows with which they multiply. */
const usesRows = ({ given: { algorithm }, batches }: Run): boolean =>
  batches !== undefined && (algorithm === 'gptq' || algorithm === 'awq');

const needsOf = ({ given }: Run) => ({ hasHessian: true, hasChannels: given.algorithm === 'awq' });

/** The layers within one layer of the model are a stage, as the authors of GPTQ have it. */
function stagesOf(run: Run, planned: readonly RunLayer[]): RunLayer[][] {
  if (!usesRows(run)) return [[...planned]];
  return [...layersOfModels(run.model.layers)]
    .map((outer) => {
      const within = new Set(nestedLayers([outer]));
      return planned.filter(({ layer }) => within.has(layer));
    })
    .filter((stage) => stage.length > 0);
}

function packedLayer(layer: RunLayer, run: Run, found: LayerStatistics | undefined): LayerReport {
  const start = performance.now();
  const { facts, outputs } = found ? packedByRows(layer, run, found) : packedByValues(layer);
  for (const { weight } of layer.weights) freezeWeight(weight);
  return {
    layer: layer.name,
    method: run.given.algorithm,
    ...reportOf(facts),
    milliseconds: performance.now() - start,
    ...(outputs && { outputSqnr: decibels(outputs.signal, outputs.noise) }),
  };
}

interface PackedLayer {
  readonly facts: PackedFacts[];
  readonly outputs?: OutputPowers;
}

function packedByValues({ weights, settings, range, inputScale, factors }: RunLayer): PackedLayer {
  using divisors = factors && tensorOf(factors);
  const form = { range, inputScale, factors: divisors };
  return { facts: weights.map(({ weight, axis }) => pack(weight.read(), settings, axis, form)) };
}

const tensorOf = (factors: Float32Array): NativeTensor => tensorFrom(factors, 'float32', [factors.length]);

/** GPTQ and AWQ. Their layers have one weight. */
function packedByRows(layer: RunLayer, { given }: Run, { hessian, channels }: LayerStatistics): PackedLayer {
  const { name, settings, range, weights } = layer;
  const { weight, axis } = weights[0]!;
  const variable = weight.read();
  using derivatives = hessian!.matrix();
  using before = asMatrix(requireAcc().native(variable), axis);
  const finished = (facts: PackedFacts[]) => ({
    facts,
    outputs: outputPowers(before, { after: variable, axis }, derivatives),
  });
  if (channels) {
    const factors = awqScale(before, { hessian: derivatives, channels, settings, axis });
    return finished(packedByValues(withFactors(layer, factors)).facts);
  }
  const factor = given.gptq ?? { damping: 0.01, actOrder: false };
  const byGptq = (matrix: NativeTensor) =>
    gptqMatrix(matrix, derivatives, { name, axis, settings, factor, range });
  return finished([pack(variable, settings, axis, { range, pack: byGptq })]);
}
