import type { Tensor } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';
import { freeSaved } from '@acc/tape';
import { engineInternals, type ModelInternals, type StepFunction, type TapeNode } from '@acc/tfjs-internals';
import { LossPath } from '../step/follow-loss.js';

type Metrics = ModelInternals['metricsTensors'];
type Metric = Metrics[number][0];

/** The number of batches whose metrics are examined. */
const BATCHES_LOOKED_AT = 16;

/** Returns a function that examines the metrics of a step whose results are averaged over `over`. */
export function examineMetrics(
  model: ModelInternals,
): (over: Collective, step: StepFunction) => StepFunction {
  const metrics = new MetricMeans(model);
  return (over, step) =>
    over.size > 1 && over.rank === 0 ? (ins) => metrics.examine(() => step(ins)) : step;
}

/**
 * Examines the metrics of a compiled model that give one number for a batch. Logs and results of
 * `evaluate` have the mean of the numbers of all ranks, weighted by their rows. If a metric is not a
 * mean over rows, as an F1 score is not, this is not the number of one process. One warning names it.
 */
class MetricMeans {
  /** How many batches were examined with the metrics of each call of `compile`. */
  readonly #batches = new WeakMap<Metrics, number>();
  readonly #warned = new Set<string>();

  constructor(private readonly model: ModelInternals) {}

  /** Runs a step that computes the metrics of a batch. */
  examine<T>(step: () => T): T {
    const { model } = this;
    const own = model.metricsTensors;
    const batches = this.#batches.get(own) ?? 0;
    if (batches === BATCHES_LOOKED_AT) return step();
    this.#batches.set(own, batches + 1);
    model.metricsTensors = own.map(([metric, output], i) => {
      return [this.#examined(metric, model.metricsNames[i + 1]!), output] as const;
    });
    try {
      return step();
    } finally {
      model.metricsTensors = own;
    }
  }

  #examined(metric: Metric, name: string): Metric {
    return (labels, predictions) =>
      onTape((tape) => {
        const value = metric(labels, predictions);
        const rows = labels.shape[0]!;
        if (value.size > 1 || rows === 1) return value;
        const origin = new LossPath(tape, rows, () => false).originOf(value);
        if (typeof origin === 'object' && 'reason' in origin) this.#warn(name, origin.reason);
        return value;
      });
  }

  #warn(name: string, reason: string): void {
    if (this.#warned.has(name)) return;
    this.#warned.add(name);
    console.warn(
      `acc: the metric '${name}' is the mean of what each rank computes on its rows, but ${reason}. It may differ from that of one process. ` +
        'Compute it from all rows with accelerator.gatherForMetrics. See docs/when-k-ranks-equal-one.md.',
    );
  }
}

/** Runs `fn` with the tape of the step, or with a tape of its own. */
function onTape(fn: (tape: readonly TapeNode[]) => Tensor): Tensor {
  const engine = engineInternals();
  const { state } = engine;
  if (state.activeTape && state.gradientDepth > 0) return fn(state.activeTape);
  let tape: readonly TapeNode[] = [];
  try {
    return engine.scopedRun(
      () => {
        engine.startTape();
        tape = state.activeTape!;
      },
      () => engine.endTape(),
      () => fn(tape),
    );
  } finally {
    for (const node of tape) freeSaved(node);
    state.activeTape = null;
  }
}
