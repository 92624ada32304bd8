import { engine, type Optimizer, type Tensor, type TensorInfo, type Variable } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { markOf } from './marks.js';
import type { LocalTensors } from './local-tensors.js';
import type { Inputs } from './run-on-local.js';

export function withoutRule(
  kernelName: string,
  reason: string,
  inputs: Inputs,
  shards: LocalTensors,
): AccError {
  const weights = inputs.map(([, x]) => weightWith(x));
  const described = inputs.map(([name, x], i) => {
    const weight = weights[i] ? `'${weights[i]}' ` : '';
    return `  ${name}: ${weight}${describe(x, shards)}`;
  });
  const layer = weights.find((name) => name?.includes('/'))?.replace(/\/[^/]*$/, '');
  return new AccError(
    'ACC_TENSOR_PARALLEL_KERNEL',
    `${layer ? `Layer '${layer}': the` : 'The'} kernel '${kernelName}' ${reason}. Its inputs:\n${described.join('\n')}`,
    {
      help:
        layer && kernelName.includes('MatMul')
          ? `Change the plan of parallelize: give '${layer}' the style 'row' if it follows a 'column' layer, because the result of 'row' is whole. Or leave '${layer}', or the layers before it, out of the plan.`
          : "Cut the variables before it another way, leave them whole ('replicated'), or follow a 'column' layer by a 'row' layer, whose result is whole.",
      details: { kernelName, reason, ...(layer && { layer }) },
    },
  );
}

/** The name of the variable whose data a tensor has, if any. */
function weightWith({ dataId }: TensorInfo): string | undefined {
  return Object.values(engine().registeredVariables).find((variable) => variable.dataId === dataId)?.name;
}

function describe(x: TensorInfo, shards: LocalTensors): string {
  const state = shards.stateOf(x);
  const shape = `[${x.shape.join()}]`;
  if (!state) return `${shape}, cut within its dims`;
  if (state.kind === 'rows') return `${shape}, cut along dim ${state.at.dim}`;
  return `${shape}, ${state.kind === 'sum' ? 'a partial sum' : 'whole'}`;
}

export function notOnBackend(backendName: string): AccError {
  return new AccError(
    'ACC_TENSOR_PARALLEL_BACKEND',
    `The backend '${backendName}' cannot hold tensors of which each rank has a shard.`,
    { help: "Use the engine 'acc', or a mesh without the axis tensor.", details: { backendName } },
  );
}

export function doesNotDivide(
  { name, shape }: Pick<Variable, 'name' | 'shape'>,
  { dim, times = 1 }: { readonly dim: number; readonly times?: number },
  ranks: number,
): AccError {
  const parts = times > 1 ? `, which holds ${times} matrices side by side,` : '';
  return new AccError(
    'ACC_TENSOR_PARALLEL_UNEVEN',
    `'${name}' has the shape [${shape.join()}]. Its dim ${dim}${parts} cannot be cut into ${ranks} equal shards: ${shape[dim]! / times} is not a multiple of ${ranks}, the size of the axis tensor.`,
    {
      help: "Change the size of the layer or of the axis, or leave the layer whole ('replicated').",
      details: { name, shape: [...shape], dim, ranks },
    },
  );
}

export function invalidPlan(problem: string, help: string, details: object = {}): AccError {
  return new AccError('ACC_TENSOR_PARALLEL_PLAN', `parallelize: ${problem}`, {
    help,
    details: details as never,
  });
}

/**
 * The error for a step in which the ranks of the axis would all compute the same.
 *
 * @param uneven Variables that `auto` would cut, but whose dim the ranks cannot share equally.
 */
export function nothingSharded(ranks: number, uneven: readonly Variable[]): AccError {
  const left = uneven.map((variable) => `'${variable.name}' [${variable.shape.join()}]${unitsOf(variable)}`);
  const reason =
    left.length > 0 ? ` The plan 'auto' leaves whole what ${ranks} does not divide: ${left.join(', ')}.` : '';
  return new AccError(
    'ACC_TENSOR_PARALLEL_PLAN',
    `mesh.tensor has no effect: no prepared variable is cut, so its ${ranks} ranks compute the same.${reason}`,
    {
      help:
        left.length > 0
          ? 'Change the sizes of the layers or of the axis, or leave the axis out.'
          : "Call parallelize(model, 'auto') or cut(variable, …) before prepare, or leave the axis out.",
    },
  );
}

/** ` of 4 heads and 1 kvHeads`, if a variable belongs to such. */
function unitsOf(variable: Variable): string {
  const units = markOf(variable)?.units?.map(({ name, count }) => `${count} ${name}`) ?? [];
  return units.length > 0 ? ` of ${units.join(' and ')}` : '';
}

export function freed({ name }: Pick<Variable, 'name'>): AccError {
  return new AccError(
    'ACC_SHARD_FREED',
    `'${name}' was cut over the ranks of the axis tensor, and freeMemory() has freed its shards.`,
    { help: 'Read it, or save the model, before freeMemory().', details: { name } },
  );
}

export function needsWhole(optimizer: Optimizer): AccError {
  const kind = optimizer.getClassName();
  return new AccError(
    'ACC_STRATEGY_CANNOT',
    `The axis tensor gives an optimizer this rank's shard of each cut weight. ${kind} may need all of it.`,
    {
      help: 'Use an optimizer of tfjs, adamw, lamb, lion or sgdw. If an optimizer of your own computes each element by itself, give it a member elementwise: true.',
      details: { optimizer: kind },
    },
  );
}

/** The error for an optimizer that needs to know which rows and columns a rank has. */
export function shardsUnits(
  { name }: Pick<Variable, 'name'>,
  units: { readonly name: string; readonly count: number },
  ranks: number,
): AccError {
  return new AccError(
    'ACC_TENSOR_PARALLEL_UNEVEN',
    `'${name}' belongs to ${units.count} ${units.name}, which ${ranks} ranks, the size of the axis tensor, cannot share equally.`,
    {
      help: `Use a number of ranks that divides the ${units.name}, or leave the layer whole ('replicated').`,
      details: { name, units, ranks },
    },
  );
}

/** For attention to shards of sequences. */
export function headsAreFull(x: Pick<Tensor, 'shape'>, ranks: number): AccError {
  return new AccError(
    'ACC_TENSOR_PARALLEL_KERNEL',
    `scaledDotProductAttention: on a context axis, ranks of the axis tensor compute attention by heads. The ${ranks} ranks cannot do so with a tensor [${x.shape.join()}] that is not cut along its heads, dim 1.`,
    {
      help: 'Cut queries, keys and values by heads: their projections by columns, with a number of heads that the axis tensor divides.',
      details: { shape: [...x.shape], ranks },
    },
  );
}
