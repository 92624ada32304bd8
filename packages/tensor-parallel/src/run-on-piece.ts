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
  const there: [string, TensorInfo][] = [];
  for (const name in inputs) {
    const x = inputs[name] as TensorInfo | null | undefined;
    if (x != null) there.push([name, x]);
  }
  return there;
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
  let gathers = true;
  let given: TensorInfo | TensorInfo[];
  try {
    for (const [name, x] of inputs) {
      const kind = pieces.kindOf(x);
      if (kind === 'rows') gathers &&= pieces.gathers(x);
      const factor = plan.factors?.get(name) ?? 1;
      const operand = kind ? pieces.pieceOf(x) : operandOf(name, x);
      own[name] = asTensor(factor === 1 ? operand : scaled(operand, factor));
    }
    const attrs = plan.attrs ? { ...call.attrs, ...plan.attrs } : call.attrs;
    given = kernelFunc({ inputs: own, attrs: attrs as NamedAttrMap, backend: call.backend });
  } finally {
    for (const x of made) kernels.free(x);
  }
  return Array.isArray(given) ? given.map((each, i) => held(each, i)) : held(given, 0);

  function held(returned: TensorInfo, i: number): TensorInfo {
    const result = resultOf(plan, i, returned.shape);
    const x = untracked(returned, kernels.backend);
    const own = result.kind === 'whole' ? x : pieces.hold(x, result, gathers);
    // A kernel returns a tensor if its gradient reads no values of it.
    return returned instanceof Tensor ? resultWithoutValues(own) : own;
  }

  function operandOf(name: string, x: TensorInfo): TensorInfo {
    const at = plan.cuts?.get(name);
    if (!at) return x;
    const cut = pieces.cut(x, at);
    made.push(cut);
    return cut;
  }

  function scaled(x: TensorInfo, factor: number): TensorInfo {
    const scale = kernels.scalar(factor);
    const product = kernels.run(Multiply, { a: x, b: scale });
    made.push(scale, product);
    return product;
  }
}

/** Some kernels of tfjs expect tensors as inputs, which have a rank. */
function asTensor(x: TensorInfo): TensorInfo {
  if ('rank' in x) return x;
  const { dataId, shape, dtype } = x;
  return { dataId, shape, dtype, rank: shape.length } as TensorInfo;
}

function resultOf({ results }: Plan, i: number, shape: readonly number[]): Result {
  if (typeof results === 'function') return results(shape);
  return Array.isArray(results) ? (results as Result[])[i]! : (results as Result);
}
