import { dispose, mul, tidy, train, util, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import { runsOfShard, type TensorShard } from '@acc/contract';
import { require } from '../collectives/subject.js';
import type { StrategyCase, StrategySubject } from './subject.js';
import {
  assignNumbers,
  gradientsOf,
  plainSteps,
  requireClose,
  requireNoneLeft,
  startValues,
  sumsOf,
  tensorOf,
  training,
  type Training,
} from './trained.js';

const RATE = 0.5;
const stepped = (values: readonly number[][], sums: readonly number[][], rate = RATE): number[][] =>
  values.map((list, i) => list.map((value, k) => value - rate * sums[i]![k]!));
const norm = (lists: readonly number[][]): number => Math.hypot(...lists.flat());

/** Gradients in the shapes of their variables, as a program reads them. */
function wholeOf({ strategy, variables }: Training, grads: (Tensor | null)[]): (Tensor | null)[] {
  return strategy.gradients?.full(grads, variables) ?? grads;
}

/** The elements of a box in a row-major tensor. */
function* elementsOf({ shape, offset, sizes }: TensorShard): Generator<number> {
  for (let k = 0; k < util.sizeFromShape([...sizes]); k++) {
    let rest = k;
    let element = 0;
    let stride = 1;
    for (let dim = shape.length - 1; dim >= 0; dim--) {
      element += (offset[dim]! + (rest % sizes[dim]!)) * stride;
      rest = Math.floor(rest / sizes[dim]!);
      stride *= shape[dim]!;
    }
    yield element;
  }
}

interface Boxes {
  /** The elements of a variable that this rank holds. */
  readonly elements: number[];
  /** The fault in them, if there is one. */
  readonly fault?: string;
}

/** @param all The values of the variable. */
function boxesOf({ strategy }: Training, variable: Variable, all: readonly number[]): Boxes {
  const shards = strategy.layout?.shardsOf(variable);
  if (!shards) return { elements: [...all.keys()] };
  const own = [...(strategy.layout?.localOf?.(variable) ?? variable).dataSync()];
  const elements = shards.flatMap((shard) => [...elementsOf(shard)]);
  const held = shards.flatMap((shard) =>
    [...runsOfShard(shard)].flatMap(({ inVariable, length }) => own.slice(inVariable, inVariable + length)),
  );
  const wrong = elements.findIndex((element, k) => held[k] !== all[element]);
  if (shards.some(({ shape }) => shape.join() !== variable.shape.join())) {
    return { elements, fault: 'a shard has another shape' };
  }
  if (elements.length !== own.length) {
    return { elements, fault: `its shards have ${elements.length} of ${own.length} elements` };
  }
  return wrong < 0
    ? { elements }
    : { elements, fault: `element ${elements[wrong]} is held as ${held[wrong]}` };
}

const byValue: readonly StrategyCase[] = [
  {
    name: 'every rank starts from the values of rank 0',
    run: (subject) =>
      training(subject, (trained) => requireClose(trained.values(), startValues(), 'the start')),
  },
  {
    name: 'a step takes the sum of the gradients of all ranks',
    run: (subject) =>
      training(subject, (trained) => {
        const { rank, size } = subject.context.collective;
        trained.update(trained.reduce(gradientsOf(rank)), train.sgd(RATE));
        requireClose(trained.values(), stepped(startValues(), sumsOf(size)), 'weights after the step');
      }),
  },
  {
    name: 'a gradient that some ranks lack is the sum of the others, and one that all lack is null',
    run: (subject) =>
      training(subject, (trained) => {
        const { rank, size } = subject.context.collective;
        const all = gradientsOf(rank);
        // Only the first rank has the second gradient, and none has the last.
        const given = all.map((grad, i) =>
          (i === 1 && rank > 0) || i === all.length - 1 ? undefined : grad,
        );
        all.forEach((grad, i) => given[i] ?? grad.dispose());
        const grads = trained.reduce(given);
        require(grads.at(-1) === null, 'a gradient that no rank has is not null');
        const sums = sumsOf(size);
        sums[1] = sumsOf(1)[1]!;
        sums[sums.length - 1] = sums.at(-1)!.map(() => 0);
        trained.update(grads, train.sgd(RATE));
        requireClose(trained.values(), stepped(startValues(), sums), 'weights after the step');
      }),
  },
  {
    name: 'three steps of adam are those of one process, and leave no tensors',
    run: (subject) =>
      training(subject, (trained) => {
        const { rank, size } = subject.context.collective;
        const optimizer = train.adam(0.05);
        trained.strategy.prepareOptimizer?.(optimizer);
        const step = (at: number) => trained.update(trained.reduce(gradientsOf(rank, at)), optimizer);
        step(0);
        requireNoneLeft(() => step(1), 'a step');
        step(2);
        const plain = train.adam(0.05);
        const expected = plainSteps(
          [0, 1, 2].map((at) => sumsOf(size, at)),
          plain,
        );
        requireClose(trained.values(), expected, 'weights after three steps');
        for (const each of [optimizer, plain]) each.dispose();
      }),
  },
];

/** The gradients of a step, with the norm of their sums over ranks. */
function withGradients(
  subject: StrategySubject,
  run: (trained: Training, grads: (Tensor | null)[], sums: number[][]) => void,
): void {
  training(subject, (trained) => {
    const { rank, size } = subject.context.collective;
    const grads = trained.reduce(gradientsOf(rank));
    run(trained, grads, sumsOf(size));
  });
}

const gradients: readonly StrategyCase[] = [
  {
    name: 'the global norm is that of the sums, on every rank',
    run: (subject) =>
      withGradients(subject, (trained, grads, sums) => {
        const { globalNorm, traits } = trained.strategy;
        if (globalNorm) {
          const found = globalNorm.call(trained.strategy, trained.named(grads));
          requireClose([[...found.dataSync()]], [[norm(sums)]], 'the norm');
          found.dispose();
        } else require(traits.parameters === 'replicated', 'sharded gradients have no globalNorm');
        dispose(grads.filter((grad) => grad !== null));
      }),
  },
  {
    name: 'all ranks know if a gradient of one rank is not finite',
    run: (subject) =>
      training(subject, (trained) => {
        const { rank, size } = subject.context.collective;
        const { strategy } = trained;
        if (!strategy.allFinite) {
          return require(strategy.traits.parameters === 'replicated', 'sharded gradients have no allFinite');
        }
        for (const isFinite of [true, false]) {
          const given = gradientsOf(rank);
          if (!isFinite && rank === size - 1) {
            given[0]!.dispose();
            given[0] = tensorOf([NaN, ...new Array<number>(23).fill(1)], [4, 6]);
          }
          const grads = trained.reduce(given).filter((grad) => grad !== null);
          require(strategy.allFinite(grads) === isFinite, `allFinite is ${!isFinite}`);
          dispose(grads);
        }
      }),
  },
  {
    name: 'changed gradients are those of the step',
    run: (subject) =>
      withGradients(subject, (trained, grads, sums) => {
        const halve = (list: Tensor[]) =>
          list.map((grad) => {
            const half = tidy(() => mul(grad, 0.5));
            grad.dispose();
            return half;
          });
        const present = grads.filter((grad) => grad !== null);
        const changed = trained.strategy.changeGradients?.(present, halve) ?? halve(present);
        let next = 0;
        const all = grads.map((grad) => (grad ? changed[next++]! : null));
        trained.update(all, train.sgd(RATE));
        requireClose(trained.values(), stepped(startValues(), sums, RATE / 2), 'weights after the step');
      }),
  },
  {
    name: 'a program reads whole gradients, and a step takes them',
    run: (subject) =>
      withGradients(subject, (trained, grads, sums) => {
        const { strategy } = trained;
        const full = wholeOf(trained, grads);
        const isWhole = strategy.gradients !== undefined || strategy.traits.parameters === 'replicated';
        if (isWhole) {
          full.forEach((grad, i) => {
            const { shape } = trained.variables[i]!;
            require(grad!.shape.join() ===
              shape.join(), `gradient ${i} has the shape [${grad!.shape.join()}]`);
          });
          requireClose(
            full.map((grad) => [...grad!.dataSync()]),
            sums,
            'whole gradients',
          );
        }
        const record = trained.named(full);
        const local = strategy.gradients?.local(record);
        const taken = trained.variables.map(({ name }) => (local ?? record)[name]!);
        trained.update(taken, train.sgd(RATE));
        if (local) dispose(record);
        requireClose(trained.values(), stepped(startValues(), sums), 'weights after the step');
      }),
  },
];

const variables: readonly StrategyCase[] = [
  {
    name: 'new values that a program assigns are those of later steps',
    run: (subject) =>
      training(subject, (trained) => {
        const { rank, size } = subject.context.collective;
        const values = startValues().map((list) => list.map((value) => 1 - value));
        // Without `localOf`, programs and checkpoints assign nothing to sharded variables.
        if (trained.strategy.traits.parameters === 'sharded' && !trained.strategy.layout?.localOf) return;
        trained.variables.forEach((variable, i) => assignNumbers(variable, values[i]!));
        requireClose(trained.values(), values, 'assigned values');
        trained.update(trained.reduce(gradientsOf(rank)), train.sgd(RATE));
        requireClose(trained.values(), stepped(values, sumsOf(size)), 'weights after the step');
      }),
  },
  {
    name: 'the shards of all ranks are whole variables',
    run: (subject) =>
      training(subject, (trained) => {
        const { collective } = subject.context;
        const all = trained.values();
        const boxes = trained.variables.map((variable, i) => boxesOf(trained, variable, all[i]!));
        // Every rank comes here, whatever it has found.
        const ofRanks = collective.allGatherObject(boxes);
        trained.variables.forEach(({ name, size }, i) => {
          const { fault } = boxes[i]!;
          require(fault === undefined, `${name}: ${fault}`);
          const found = new Set(ofRanks.flatMap((each) => each[i]!.elements));
          require(found.size === size, `${name}: ranks hold ${found.size} of its ${size} elements`);
        });
      }),
  },
  {
    name: 'variables have their values while an operator uses them',
    run: (subject) =>
      training(subject, ({ strategy: { tape }, variables: used }) => {
        const expected = startValues();
        for (const phase of ['forward', 'backward'] as const) {
          used.forEach((variable, i) => {
            tape?.before?.([variable], phase);
            requireClose([[...variable.dataSync()]], [expected[i]!], `values in ${phase}`);
            tape?.after?.([variable], phase);
          });
        }
        tape?.end?.();
      }),
  },
  {
    name: 'neither a read nor detach leaves tensors',
    run(subject) {
      requireNoneLeft(() => {
        training(subject, (trained) => {
          trained.values();
          requireNoneLeft(() => trained.values(), 'a read');
        });
      }, 'a strategy that was detached');
    },
  },
  {
    name: 'its state is that of the time when it was asked for',
    run: (subject) =>
      training(subject, (trained) => {
        const { state: stateOf } = trained.strategy;
        if (!stateOf) return;
        const shared = () => JSON.stringify(stateOf.get().shared);
        const step = (at: number) => {
          const grads = gradientsOf(subject.context.collective.rank, at);
          trained.update(trained.reduce(grads), train.sgd(RATE));
        };
        step(0);
        const [state, before] = [stateOf.get(), shared()];
        step(1);
        stateOf.set(state);
        require(shared() === before, 'the shared state is another one');
      }),
  },
  {
    name: 'a weight that was read before a step has its new values after it',
    run: (subject) =>
      training(subject, (trained) => {
        const { rank, size } = subject.context.collective;
        let expected = startValues();
        const optimizer = train.sgd(RATE);
        // The step of a prepared optimizer writes weights without `assign`.
        const prepared = subject.context.kernels.fusedApply?.(optimizer);
        for (const [step, apply] of [undefined, undefined, prepared, prepared].entries()) {
          trained.update(trained.reduce(gradientsOf(rank, step)), optimizer, apply);
          expected = stepped(expected, sumsOf(size, step));
          const read = trained.variables.map((variable) => [...variable.dataSync()]);
          requireClose(read, expected, `weights that are read after step ${step}`);
        }
      }),
  },
  {
    name: 'a copy of a weight from before a step has the earlier values, or none',
    run: (subject) =>
      training(subject, (trained) => {
        const [variable] = trained.variables as [Variable];
        const copy = variable.clone();
        trained.update(trained.reduce(gradientsOf(subject.context.collective.rank)), train.sgd(RATE));
        let found: number[] | undefined;
        try {
          found = [...copy.dataSync()];
        } catch {
          // The strategy says that the values are gone.
        }
        copy.dispose();
        if (found) requireClose([found], [startValues()[0]!], 'the copy');
      }),
  },
];

/** The cases that every strategy must pass, on any number of ranks. */
export const strategyCases: readonly StrategyCase[] = [...byValue, ...gradients, ...variables];
