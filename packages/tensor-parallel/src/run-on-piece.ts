import {
  Multiply,
  Tensor,
  type KernelConfig,
  type NamedAttrMap,
  type NamedTensorInfoMap,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import { resultWithoutValues } from '@acc/kernels';
import type { Plan, Result } from '@acc/sharding-rules';
import type { Kernels } from './kernels.js';
import { untracked } from './tensor-info.js';
import type { Pieces } from './pieces.js';

export type KernelCall = Parameters<KernelConfig['kernelFunc']>[0];
export type Inputs = readonly (readonly [name: string, x: TensorInfo])[];

/** The inputs of a call that are there. */
export function inputsOf({ inputs }: KernelCall): Inputs {
  return Object.entries(inputs ?? {}).filter((entry): entry is [string, TensorInfo] => entry[1] != null);
}

/** Runs a kernel on this rank's piece of its inputs, as the plan says. The caller owns the results. */
export function runOnPiece(
  { kernelFunc }: KernelConfig,
  call: KernelCall,
  { inputs, plan }: { readonly inputs: Inputs; readonly plan: Plan },
  { pieces, kernels }: { readonly pieces: Pieces; readonly kernels: Kernels },
): TensorInfo | TensorInfo[] {
  const made: TensorInfo[] = [];
  const own = (Array.isArray(call.inputs) ? [] : {}) as NamedTensorInfoMap;
  const gathers = inputs
    .filter(([, x]) => !pieces.isSum(x) && pieces.isCut(x))
    .every(([, x]) => pieces.gathers(x));
  let given: TensorInfo | TensorInfo[];
  try {
    for (const [name, x] of inputs)
      own[name] = asTensor(scaled(operandOf(name, x), plan.factors?.get(name) ?? 1));
    given = kernelFunc({ ...call, inputs: own, attrs: { ...call.attrs, ...plan.attrs } as NamedAttrMap });
  } finally {
    for (const x of made) kernels.free(x);
  }
  const held = [given].flat().map((returned, i) => {
    const result = resultOf(plan, i, returned.shape);
    const x = untracked(returned, kernels.backend);
    const own = result.kind === 'whole' ? x : pieces.hold(x, result, gathers);
    // A kernel returns a tensor if its gradient reads no values of it.
    return returned instanceof Tensor ? resultWithoutValues(own) : own;
  });
  return Array.isArray(given) ? held : held[0]!;

  function operandOf(name: string, x: TensorInfo): TensorInfo {
    if (pieces.isCut(x)) return pieces.pieceOf(x);
    const at = plan.cuts?.get(name);
    if (!at) return x;
    const cut = pieces.cut(x, at);
    made.push(cut);
    return cut;
  }

  function scaled(x: TensorInfo, factor: number): TensorInfo {
    if (factor === 1) return x;
    const scale = kernels.scalar(factor);
    const product = kernels.run(Multiply, { a: x, b: scale });
    made.push(scale, product);
    return product;
  }
}

/** Some kernels of tfjs expect tensors as inputs, which have a rank. */
function asTensor(x: TensorInfo): TensorInfo {
  return 'rank' in x ? x : Object.assign({ ...x }, { rank: x.shape.length });
}

function resultOf({ results }: Plan, i: number, shape: readonly number[]): Result {
  if (typeof results === 'function') return results(shape);
  return Array.isArray(results) ? (results as Result[])[i]! : (results as Result);
}
