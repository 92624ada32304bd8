import { add, type Tensor, util } from '@tensorflow/tfjs-core';
import { AccError, type ProductSums, type RunForwardOptions, type TapedForward } from '@acc/contract';
import { engineInternals, type EngineInternals, type TapeNode } from '@acc/tfjs-internals';
import { freeUnused } from './driver.js';
import { freeSaved } from './packed-tensors.js';
import type { Pass, PassHooks } from './pass.js';
import { PassContext, putContext } from './pass-context.js';
import { Rest } from './rest-of-pass.js';
import { splitPath } from './split-path.js';
import { localInputsOf, pathBetween, requireDependence, requireLocalOnly, type Path } from './tape.js';
import { owned, walkBackward, type WalkOptions } from './walk.js';

/** Implements `RunForward` of the contract. */
export function runForward(
  f: () => Tensor | readonly Tensor[],
  xs: readonly Tensor[],
  hooks: PassHooks,
  { isTrial }: RunForwardOptions = {},
): TapedForward {
  const engine = engineInternals();
  const context = new PassContext(isTrial);
  requireOutermost(engine, 'A forward pass for a later backward pass');
  let tape: TapeNode[] = [];
  let path: Path | undefined;
  try {
    const given = engine.scopedRun(
      () => {
        engine.startTape();
        tape = engine.state.activeTape!;
        putContext(tape, context);
        hooks.participants?.packOn(tape);
      },
      () => engine.endTape(),
      () => engine.tidy('forward', () => (hooks.forward ? hooks.forward(xs, f) : f())),
    );
    const outputs = 'dataId' in given ? [given] : given;
    const held = localInputsOf(xs);
    requireLocalOnly(tape, xs, outputs);
    path = pathBetween(tape, held, outputs);
    return new KeptPass({ xs: held, outputs, path, hooks, context });
  } finally {
    engine.state.activeTape = null;
    freeUnused(tape, new Set(path?.nodes.map(({ node }) => node)));
    hooks.participants?.end();
  }
}

class KeptPass implements TapedForward {
  readonly outputs: readonly Tensor[];
  readonly #context: PassContext;
  /** Undefined after its use. */
  #pass: Pass | undefined;
  /** After the first half of a backward pass in halves. */
  #rest: Rest | undefined;

  constructor(pass: Pass) {
    this.outputs = pass.outputs;
    this.#context = pass.context;
    this.#pass = pass;
  }

  get addsTerms(): boolean {
    return this.#context.addsTerms;
  }

  requireDependence(): void {
    requireDependence(this.#usable().path);
  }

  backward(dys: readonly (Tensor | null)[], lossSeed?: number, sums?: ProductSums): (Tensor | null)[] {
    const pass = this.#usable();
    requireFitting(dys, pass.outputs);
    try {
      return walking(pass, lossSeed, (engine) =>
        gradientsOf(engine, pass, seedsOf(pass.outputs, dys), { sums }),
      );
    } finally {
      this.dispose();
    }
  }

  backwardTo(count: number, dys: readonly (Tensor | null)[], lossSeed?: number): (Tensor | null)[] {
    const pass = this.#usable();
    requireFitting(dys, pass.outputs);
    const split = splitPath(pass.path, pass.xs.slice(0, count));
    const rest = new Rest({ ...pass, xs: pass.xs.slice(count), path: split.rest }, lossSeed);
    try {
      const grads = walking(pass, lossSeed, (engine) => {
        const seeds = seedsOf(pass.outputs, dys);
        rest.addSeeds(seeds, split.first);
        const first = { ...pass, xs: pass.xs.slice(0, count), path: split.first };
        return gradientsOf(engine, first, seeds, { rest });
      });
      this.#rest = rest;
      return grads;
    } catch (error) {
      rest.dispose();
      this.dispose();
      throw error;
    }
  }

  backwardRest(sums?: ProductSums): (Tensor | null)[] {
    const rest = this.#rest;
    this.#usable();
    if (!rest) throw notBegun();
    const { pass, lossSeed } = rest;
    try {
      return walking(pass, lossSeed, (engine) => gradientsOf(engine, pass, rest.seeds, { sums }));
    } finally {
      this.dispose();
    }
  }

  dispose(): void {
    for (const { node } of this.#pass?.path.nodes ?? []) freeSaved(node);
    this.#pass = undefined;
    this.#rest?.dispose();
    this.#rest = undefined;
  }

  #usable(): Pass {
    if (!this.#pass) throw used();
    requireOutermost(engineInternals(), 'A separate backward pass');
    return this.#pass;
  }
}

function walking(
  { xs, hooks, context }: Pass,
  lossSeed: number | undefined,
  walk: (engine: EngineInternals) => (Tensor | null)[],
): (Tensor | null)[] {
  const engine = engineInternals();
  const run = () => context.backward(lossSeed, () => walk(engine));
  try {
    return engine.tidy('backward', () => (hooks.backward ? hooks.backward(xs, run) : run()));
  } finally {
    hooks.participants?.end();
  }
}

function seedsOf(outputs: readonly Tensor[], dys: readonly (Tensor | null)[]): Map<number, Tensor> {
  const seeds = new Map<number, Tensor>();
  outputs.forEach(({ id }, i) => {
    const dy = dys[i];
    const before = seeds.get(id);
    if (dy) seeds.set(id, before ? add(before, dy) : dy);
  });
  return seeds;
}

function gradientsOf(
  engine: EngineInternals,
  { xs, path, hooks }: Pass,
  seeds: ReadonlyMap<number, Tensor>,
  { rest, sums }: { readonly rest?: Rest; readonly sums?: ProductSums | undefined },
): (Tensor | null)[] {
  const found = walkBackward({
    engine,
    path: startingAt(path, seeds),
    seeds,
    wanted: new Set(xs.map(({ id }) => id)),
    finals: new Map(),
    freesEarly: true,
    participants: hooks.participants,
    ...(sums && { products: productsOf(xs, sums) }),
    ...(rest && { later: rest.later }),
  });
  rest?.addFound(found);
  return xs.map(({ id }) => {
    const grad = found.get(id);
    return grad ? owned(grad, { engine }) : null;
  });
}

/** The functions that compute gradients of `xs`, by tensor id, if they are products. */
function productsOf(xs: readonly Tensor[], sums: ProductSums): WalkOptions['products'] {
  return new Map(xs.map(({ id }, i) => [id, (gradient: () => Tensor) => sums.ofProduct(i, gradient)]));
}

/** The part of the path that leads to outputs with a gradient. */
function startingAt(path: Path, seeds: ReadonlyMap<number, Tensor>): Path {
  const reached = new Set(seeds.keys());
  const nodes = path.nodes.toReversed().filter(({ node, inputs }) => {
    if (!node.outputs.some(({ id }) => reached.has(id))) return false;
    for (const [, { id }] of inputs) reached.add(id);
    return true;
  });
  return { ...path, nodes: nodes.reverse() };
}

function requireOutermost({ state }: EngineInternals, what: string): void {
  if (state.gradientDepth === 0) return;
  throw new AccError('ACC_GRADIENT_NESTED', `${what} was started inside another gradient computation.`, {
    help: 'Call it outside of tf.grad, tf.variableGrads and minimize.',
  });
}

function requireFitting(dys: readonly (Tensor | null)[], outputs: readonly Tensor[]): void {
  const fits = (dy: Tensor | null, i: number) =>
    dy === null || (dy.dtype === 'float32' && util.arraysEqual(dy.shape, outputs[i]!.shape));
  if (dys.length === outputs.length && dys.every(fits)) return;
  const describe = (tensors: readonly (Tensor | null)[]) =>
    tensors.map((tensor) => (tensor ? `${tensor.dtype}[${tensor.shape.join()}]` : 'null')).join(', ');
  throw new AccError(
    'ACC_INVALID_ARGUMENT',
    `backward: the gradients are ${describe(dys)}, but the outputs are ${describe(outputs)}.`,
    { help: 'Give one float32 gradient of the same shape, or null, for each output.' },
  );
}

function used(): AccError {
  return new AccError('ACC_TAPE_USED', 'The saved tensors of this forward pass were already freed.', {
    help: 'Call backward only once for each forward pass, and never after dispose.',
  });
}

function notBegun(): AccError {
  return new AccError('ACC_TAPE_USED', 'backwardRest was called before backwardTo.', {
    help: 'Call backwardTo with the gradients of the outputs first.',
  });
}
