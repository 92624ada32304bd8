import { shortName } from '../../report.js';
import type { Call } from '../../graph.js';
import { isCausalMask, SEEN } from './causal-mask.js';
import { isProductWith } from './choices.js';
import type { Context } from './context.js';
import { factorOf, isConversion, isSameFactor, kindOfView, type Factor } from './factors.js';
import { isProduct, type Forward } from './forward.js';
import { takersOf, type Taker } from './takers.js';

/** A product that gives a gradient, or its transposes. */
export interface GradientProduct {
  readonly call: Call;
  readonly isTurned: boolean;
}

/** The gradients of an attention; undefined for those that nobody computes. */
export interface Backward {
  /** The gradient of the output. */
  readonly dy: Factor;
  readonly dq: GradientProduct | undefined;
  readonly dk: GradientProduct | undefined;
  readonly dv: GradientProduct | undefined;
  readonly members: readonly Call[];
}

/** Relative. Forward and backward multiply by the same number, or divide by its inverse. */
const SCALE_TOLERANCE = 1e-6;

/** The gradients of `forward`. Undefined if it has none. If they have another form, the reason. */
export function backwardOf(forward: Forward, context: Context): Backward | string | undefined {
  const { softmax, others } = forward;
  const ofSoftmax = others.filter(
    ({ call, place }) => call.op === 'aten::_softmax_backward_data' && place === 1,
  );
  const products = others.filter(isProduct);
  const other = others.find((taker) => !ofSoftmax.includes(taker) && !products.includes(taker));
  if (other) return `its probabilities are also taken by ${shortName(other.call.op)}`;
  if (ofSoftmax.length > 1 || products.length > 1) return 'it has several gradients';
  if (others.length === 0) return undefined;
  const ofV = products.map((taker) => gradientOfV(taker, forward, context));
  const ofScores = ofSoftmax.map(({ call }) =>
    call.args[2] === softmax.args[1]
      ? gradientOfScores(call, forward, context)
      : 'its gradient has another axis',
  );
  const parts = [...ofV, ...ofScores];
  const problem = parts.find((part) => typeof part === 'string');
  if (problem !== undefined) return problem;
  const found = parts as readonly Partial<Backward>[];
  const [dy] = found.map((part) => part.dy!) as [Factor];
  if (!found.every((part) => isSameFactor(part.dy!, dy))) return 'its gradients come from different tensors';
  return {
    ...{ dy, dq: undefined, dk: undefined, dv: undefined },
    ...found.reduce((all, part) => ({ ...all, ...part }), {}),
    members: found.flatMap((part) => part.members!),
  };
}

type Part = (Partial<Backward> & Pick<Backward, 'dy' | 'members'>) | string;

/** `pᵀ·dy`, or its transpose `dyᵀ·p`. */
function gradientOfV({ call, place, isTurned }: Taker, { leading }: Forward, context: Context): Part {
  const factor = factorOf(call.uses[1 - place]!, leading, context);
  const isLeft = place === 0;
  if (!factor || isTurned !== isLeft || factor.isTurned === isLeft) {
    return 'its probabilities are also taken by another product';
  }
  const dy = { ...factor, isTurned: false };
  return { dy, dv: { call, isTurned: !isLeft }, members: [call] };
}

/** The gradients of q and k, from the gradient of the softmax. */
function gradientOfScores(call: Call, forward: Forward, context: Context): Part {
  const { leading, v } = forward;
  const { product, members } = productBehind(call.uses[0]!, context);
  if (!product) return 'the gradient of its probabilities is no product';
  const dy = factorOf(product.uses[0]!, leading, context);
  const turnedV = factorOf(product.uses[1]!, leading, context);
  const isOfV = turnedV && isSameFactor(turnedV, { ...v, isTurned: !v.isTurned });
  if (!dy || dy.isTurned || !isOfV) return 'the gradient of its probabilities is another product';
  const { takers, between } = takersOf(call.results[0]!, context, {
    scales: true,
    isPassing: (taker) =>
      (forward.isCausal && isOfCausalChoice(taker, context)) ||
      (forward.choice !== undefined && isProductWith(forward.choice, taker, context)),
  });
  const gradients = takers.map((taker) => gradientOfFactor(taker, forward, context));
  const problem = gradients.find((gradient) => typeof gradient === 'string');
  if (problem !== undefined) return problem;
  const byName = new Map((gradients as readonly NamedProduct[]).map(({ name, ...rest }) => [name, rest]));
  if (byName.size < takers.length) return 'it has several gradients';
  return {
    ...Object.fromEntries(byName),
    dy,
    members: [...members, product, call, ...between, ...takers.map((taker) => taker.call)],
  };
}

/** Whether a call multiplies gradients of hidden scores, which are 0, by 0 and others by 1. */
function isOfCausalChoice({ op, uses, results }: Call, { elementsOf, shapeOf }: Context): boolean {
  if (op !== 'aten::mul.Tensor') return false;
  return uses.some((value) => {
    const elements = elementsOf(value);
    return elements !== undefined && isCausalMask(elements, shapeOf(value), shapeOf(results[0]!), SEEN);
  });
}

interface NamedProduct extends GradientProduct {
  readonly name: 'dq' | 'dk';
}

/** A product with the gradient ds of scores: `ds·k`, `dsᵀ·q`, or the transpose of one. */
function gradientOfFactor(taker: Taker, forward: Forward, context: Context): NamedProduct | string {
  const { call, place, isTurned } = taker;
  if (!isProduct(taker)) return `the gradient of its scores is also taken by ${shortName(call.op)}`;
  const difference = Math.abs(taker.factor - forward.scale);
  if (difference > SCALE_TOLERANCE * Math.abs(forward.scale)) return 'its gradient has another scale';
  const factor = factorOf(call.uses[1 - place]!, forward.leading, context);
  const isLeft = place === 0;
  const name = isTurned === isLeft ? 'dk' : 'dq';
  const of = name === 'dq' ? { ...forward.turnedK, isTurned: !forward.turnedK.isTurned } : forward.q;
  const expected = { ...of, isTurned: of.isTurned !== !isLeft };
  if (!factor || !isSameFactor(factor, expected)) return 'the gradient of its scores goes to another product';
  return { name, call, isTurned: !isLeft };
}

/** The product that gives a value, behind lists and conversions. */
function productBehind(value: number, context: Context): { product: Call | undefined; members: Call[] } {
  const members: Call[] = [];
  let call = context.makers.get(value);
  while (call && (kindOfView(call, context) === 'same' || isConversion(call, context))) {
    members.push(call);
    call = context.makers.get(call.uses[0]!);
  }
  return { product: call?.op === 'aten::bmm' ? call : undefined, members };
}
