import {
  Multiply,
  Tensor,
  util,
  type KernelConfig,
  type NamedAttrMap,
  type NamedTensorInfoMap,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import type { RowsAt } from '@acc/contract';
import { resultWithoutValues } from '@acc/kernels';
import type { Plan, Result } from '@acc/sharding-rules';
import type { Kernels } from './kernels.js';
import type { Form, LocalTensors } from './local-tensors.js';
import type { CallAttrs, CallInputs } from './signature.js';
import { untracked } from './tensor-info.js';

export type KernelCall = Parameters<KernelConfig['kernelFunc']>[0];
export type Inputs = readonly (readonly [name: string, x: TensorInfo])[];

/** An input of a kernel that runs on a shard. */
interface Operand {
  readonly name: string;
  /** The shape of this rank's shard. Undefined if the input is whole. */
  readonly localShape: number[] | undefined;
  /** Where a whole input is cut. */
  readonly cut: RowsAt | undefined;
  readonly factor: number;
}

/** A plan together with all that follows from it for a rank's shard. */
export interface LocalPlan {
  readonly plan: Plan;
  readonly operands: readonly Operand[];
  /** Whether any input has rows. */
  readonly hasRows: boolean;
  /** Whether any whole input is cut. */
  readonly cutsWhole: boolean;
  readonly attrs: CallAttrs;
  /** Whether results may be gathered, as all inputs with rows may be. */
  readonly gathers: boolean;
  /** By result, and known after the first run: the shape of a shard and the form of the whole. */
  readonly forms: { readonly own: readonly number[]; readonly form: Form | undefined }[];
}

interface Tools {
  readonly shards: LocalTensors;
  readonly kernels: Kernels;
}

/** The inputs of a call that are there. */
export function inputsOf(inputs: CallInputs): Inputs {
  const there: [string, TensorInfo][] = [];
  for (const name in inputs) {
    const x = inputs[name];
    if (x != null) there.push([name, x]);
  }
  return there;
}

/** The plan of a call for this rank's shard. */
export function localPlan(plan: Plan, inputs: Inputs, attrs: CallAttrs, shards: LocalTensors): LocalPlan {
  const withRows = inputs.filter(([, x]) => shards.kindOf(x) === 'rows');
  const operands = inputs.map(([name, x]): Operand => {
    const isCut = shards.isCut(x);
    return {
      name,
      localShape: isCut ? shards.localShardOf(x).shape : undefined,
      cut: isCut ? undefined : plan.cuts?.get(name),
      factor: plan.factors?.get(name) ?? 1,
    };
  });
  return {
    ...{ plan, operands },
    hasRows: withRows.length > 0,
    cutsWhole: operands.some(({ cut }) => cut !== undefined),
    attrs: plan.attrs ? { ...attrs, ...plan.attrs } : attrs,
    gathers: withRows.every(([, x]) => shards.gathers(x)),
    forms: [],
  };
}

/** Runs a kernel on this rank's shard of its inputs, as the plan says. The caller owns the results. */
export function runOnLocal(
  { kernelFunc }: KernelConfig,
  { inputs, backend }: KernelCall,
  planned: LocalPlan,
  tools: Tools,
): TensorInfo | TensorInfo[] {
  const { shards, kernels } = tools;
  const created: TensorInfo[] = [];
  const local = (Array.isArray(inputs) ? [] : {}) as NamedTensorInfoMap;
  let given: TensorInfo | TensorInfo[];
  try {
    for (const { name, localShape, cut, factor } of planned.operands) {
      const x = inputs[name] as TensorInfo;
      let operand = localShape ? shards.shardIn(x, localShape) : x;
      if (cut) created.push((operand = shards.cut(x, cut)));
      if (factor !== 1) operand = scaled(operand, factor, kernels, created);
      local[name] = asTensor(operand);
    }
    given = kernelFunc({ inputs: local, attrs: planned.attrs as NamedAttrMap, backend });
  } finally {
    for (const x of created) kernels.free(x);
  }
  return Array.isArray(given)
    ? given.map((each, i) => held(each, i, planned, tools))
    : held(given, 0, planned, tools);
}

/** The product, which is also added to `made` with what it is made of. */
function scaled(x: TensorInfo, factor: number, kernels: Kernels, created: TensorInfo[]): TensorInfo {
  const scale = kernels.scalar(factor);
  const product = kernels.run(Multiply, { a: x, b: scale });
  created.push(scale, product);
  return product;
}

function held(returned: TensorInfo, i: number, planned: LocalPlan, { shards, kernels }: Tools): TensorInfo {
  const form = formOf(planned, i, returned.shape, shards);
  const x = untracked(returned, kernels.backend);
  const result = form ? shards.holdAs(x, form) : x;
  // A kernel returns a tensor if its gradient reads no values of it.
  return returned instanceof Tensor ? resultWithoutValues(result) : result;
}

/** The form of a result whose shard has the shape `own`. Undefined if the result is whole. */
function formOf(
  { plan, gathers, forms }: LocalPlan,
  i: number,
  local: readonly number[],
  shards: LocalTensors,
): Form | undefined {
  const known = forms[i];
  if (known && util.arraysEqual(known.own as number[], local as number[])) return known.form;
  const result = resultOf(plan, i, local);
  const form =
    result.kind === 'whole'
      ? undefined
      : shards.formOf(local, result, gathers || (result.kind === 'rows' && result.gathers === true));
  forms[i] = { own: local.slice(), form };
  return form;
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
