import type { Tensor } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import {
  callsOf,
  patch,
  type Apply,
  type GraphCall,
  type GraphLayer,
  type GraphModel,
  type Kwargs,
} from '@acc/tfjs-internals';
import { checkpoint } from './checkpoint.js';
import { stretchesOf, type Stretch } from './stretches.js';

/** The layer calls of a model in training, and how each layer computes. */
interface Plan {
  readonly calls: readonly GraphCall[];
  readonly stretches: readonly Stretch[];
  /** The stretch of each call. */
  readonly stretchOf: readonly Stretch[];
  readonly applies: ReadonlyMap<GraphLayer, Apply>;
}

/**
 * Makes a LayersModel keep only the tensors between stretches of `every` layers in training.
 * Backward recomputes the others.
 *
 * @returns A function that restores the model.
 */
export function checkpointLayers(model: object, every: number): () => void {
  const graph = model as GraphModel;
  const calls = callsOf(graph);
  const stretches = stretchesOf(
    calls,
    every,
    graph.outputs.map(({ id }) => id),
  );
  const layers = new Set(calls.map(({ layer }) => layer));
  const applies = new Map<GraphLayer, Apply>();
  const stretchOf = stretches.flatMap((stretch) =>
    calls.slice(stretch.first, stretch.end).map(() => stretch),
  );
  const plan = { calls, stretches, stretchOf, applies };

  let run: Run | undefined;
  const running = <T>(inputs: unknown, compute: () => T): T => {
    const before = run;
    run = new Run(plan, graph, inputs);
    try {
      return compute();
    } finally {
      run = before;
    }
  };
  const undos = Array.from(layers, (layer) =>
    patch(layer, 'apply', 'activation checkpoints', (own) => {
      applies.set(layer, own.bind(layer));
      return (inputs, kwargs) =>
        run && kwargs?.training ? run.next(layer, inputs, kwargs) : own.call(layer, inputs, kwargs);
    }),
  );
  undos.push(
    patch(
      graph,
      'call',
      'activation checkpoints',
      (own) => (inputs, kwargs) => running(inputs, () => own.call(graph, inputs, kwargs)),
    ),
    patch(graph, 'makeTrainFunction', 'activation checkpoints', (own) => () => {
      const train = own.call(graph);
      return (data) => running(data, () => train(data));
    }),
  );
  return () => {
    for (const undo of undos.splice(0)) undo();
  };
}

/**
 * One forward pass. tfjs-layers calls layer by layer. The first call of a stretch computes the
 * whole stretch.
 */
class Run {
  /** Values between layers, by id. */
  readonly #values: Map<number, Tensor>;
  #next = 0;
  #results: readonly unknown[] = [];

  /** @param inputs The inputs of the model. Other entries may follow them. */
  constructor(
    private readonly plan: Plan,
    { inputs: fed }: GraphModel,
    inputs: unknown,
  ) {
    const given = asList(inputs);
    this.#values = new Map(fed.map(({ id }, i) => [id, given[i]!]));
  }

  next(layer: GraphLayer, inputs: unknown, kwargs: Kwargs): unknown {
    const { calls, stretchOf, applies } = this.plan;
    const position = this.#next++;
    const call = calls[position];
    if (call?.layer !== layer || kwargs.mask != null) throw refusal(layer, kwargs);
    const stretch = stretchOf[position]!;
    if (!stretch.isCheckpointed) {
      const result = applies.get(layer)!(inputs, kwargs);
      note(this.#values, call, result);
      return result;
    }
    if (position === stretch.first) this.#results = this.#compute(stretch, kwargs);
    return this.#results[position - stretch.first];
  }

  /**
   * The results of each call of the stretch. Results that nothing after the stretch uses are
   * already disposed.
   */
  #compute(stretch: Stretch, kwargs: Kwargs): unknown[] {
    const { takes, gives, first, end } = stretch;
    let results: unknown[] | undefined;
    const given = checkpoint(
      (...inputs) => {
        const values = new Map(takes.map((id, i) => [id, inputs[i]!]));
        const now = this.#computeCalls(stretch, values, kwargs);
        results ??= now;
        return gives.map((id) => values.get(id)!);
      },
      takes.map((id) => this.#values.get(id)!),
    );
    const kept = new Map(gives.map((id, i) => [id, given[i]!]));
    for (const [id, tensor] of kept) this.#values.set(id, tensor);
    return this.plan.calls.slice(first, end).map(({ outputs }, i) => {
      const result = results![i];
      if (!Array.isArray(result)) return kept.get(outputs[0]!) ?? result;
      return result.map((tensor: Tensor, k) => kept.get(outputs[k]!) ?? tensor);
    });
  }

  #computeCalls(
    { first, end, takes, gives }: Stretch,
    values: Map<number, Tensor>,
    kwargs: Kwargs,
  ): unknown[] {
    const { calls, applies } = this.plan;
    const own = calls.slice(first, end);
    const stays = new Set([...takes, ...gives]);
    return own.map((call, i) => {
      const inputs = call.inputs.map((id) => values.get(id)!);
      const result = applies.get(call.layer)!(inputs, kwargs);
      note(values, call, result);
      const later = new Set(own.slice(i + 1).flatMap((next) => next.inputs));
      call.inputs.forEach((id, k) => {
        const isDone = !stays.has(id) && !later.has(id) && !inputs[k]!.kept;
        if (isDone && !asList(result).includes(inputs[k]!)) inputs[k]!.dispose();
      });
      return result;
    });
  }
}

/**
 * Stores the results of a layer. A layer with several results is called for each of them; only the
 * first call counts.
 */
function note(values: Map<number, Tensor>, { outputs }: GraphCall, result: unknown): void {
  const tensors = asList(result);
  outputs.forEach((id, i) => {
    if (!values.has(id)) values.set(id, tensors[i]!);
  });
}

const asList = (value: unknown): Tensor[] => (Array.isArray(value) ? value : [value]) as Tensor[];

function refusal({ name }: GraphLayer, { mask }: Kwargs): AccError {
  return mask == null
    ? new AccError(
        'ACC_CHECKPOINT_MODEL',
        `Layer '${name}' is called in a different order than in the model's graph.`,
        {
          help: 'Leave checkpointEvery out, and use checkpoint(fn, inputs) in your own loop.',
          details: { layer: name },
        },
      )
    : new AccError(
        'ACC_CHECKPOINT_MODEL',
        `checkpointEvery: layer '${name}' gets a mask, which is not supported.`,
        {
          help: 'Mask in the loss instead, or leave checkpointEvery out for this model.',
          details: { layer: name },
        },
      );
}
