import { shortName } from '../../report.js';
import type { Call } from '../../graph.js';
import { isSameShape } from '../../same-shape.js';
import type { Context } from './context.js';
import { ADDED, isCausalMask, SEEN, SUBTRACTED, UNSEEN, type Marks } from './causal-mask.js';
import { conditionBehind, type Choice } from './choices.js';
import { isConversion, kindOfView, scalingOf } from './factors.js';

/** How scores are made: `scale · product + mask`, or `scale · product` where a query sees a key. */
export interface Scores {
  readonly product: Call;
  readonly scale: number;
  /** At most one of this, {@link choice} and {@link isCausal} is given. */
  readonly mask: number | undefined;
  readonly choice: Choice | undefined;
  /** Whether a constant hides from each query the keys after it. */
  readonly isCausal: boolean;
  /** Whether a factor makes 0 of the scores of keys after a query, as in GPT-2. A mask must hide them. */
  readonly hasZeros: boolean;
  /** The calls that make them. */
  readonly members: readonly Call[];
}

/** How scores are made. If they are not made in this way, the reason. */
export function scoresOf(value: number, context: Context): Scores | string {
  const call = context.makers.get(value);
  if (!call) return 'its scores are no product';
  if (call.op === 'aten::bmm') return { ...UNMASKED, product: call, scale: 1, members: [call] };
  const scaling = scalingOf(call, context);
  if (scaling) {
    return ending(call, scoresOf(scaling.of, context), (scores) =>
      isMasked(scores) ? 'its mask is multiplied by a number' : { scale: scores.scale * scaling.factor },
    );
  }
  if (kindOfView(call, context) === 'same' || isConversion(call, context)) {
    return ending(call, scoresOf(call.uses[0]!, context), () => ({}));
  }
  if (call.op === 'aten::add.Tensor' && call.args[2] === 1) return maskedScores(call, context);
  if (call.op === 'aten::sub.Tensor' && call.args[2] === 1) return lessScores(call, context);
  if (call.op === 'aten::where.self') return chosenScores(call, context);
  if (call.op === 'aten::mul.Tensor') return multipliedScores(call, context);
  return `its scores come from ${shortName(call.op)}`;
}

const UNMASKED = { mask: undefined, choice: undefined, isCausal: false, hasZeros: false } as const;

const MASKED_TWICE = 'it has more than one mask';

const isMasked = ({ mask, choice, isCausal }: Scores): boolean =>
  mask !== undefined || choice !== undefined || isCausal;

/** The scores that `call`, a choice, takes where queries see keys. Elsewhere it takes a constant. */
function chosenScores(call: Call, context: Context): Scores | string {
  const [condition, yes, no] = call.uses as [number, number, number];
  const [hiddenYes, hiddenNo] = [yes, no].map((value) => hiddenBy(value, context));
  const isSeen = hiddenNo !== undefined;
  const hidden = hiddenNo ?? hiddenYes;
  if (hidden === undefined) return 'what takes the place of hidden scores is no constant of -1e8 or less';
  const scores = isSeen ? yes : no;
  if (isCausal(condition, isSeen ? SEEN : UNSEEN, call, context)) return causalScores(call, scores, context);
  if (!isSameShape(context.shapeOf(scores), context.shapeOf(call.results[0]!))) {
    return 'its scores are broadcast';
  }
  const behind = conditionBehind(condition, context);
  const choice = { value: behind.value, isSeen: behind.isSeen === isSeen, hidden };
  return ending(call, scoresOf(scores, context), (of) => (isMasked(of) ? MASKED_TWICE : { choice }));
}

/** The one number of all elements of a constant, if it hides keys. */
function hiddenBy(value: number, { elementsOf }: Context): number | undefined {
  const elements = elementsOf(value);
  const [first] = elements ?? [];
  const isHiding = first !== undefined && ADDED.isHidden(first) && elements!.every((each) => each === first);
  return isHiding ? first : undefined;
}

/** The scores that `call`, a product, multiplies by 1 where queries see keys, and by 0 elsewhere. */
function multipliedScores(call: Call, context: Context): Scores | string {
  const [left, right] = call.uses as [number, number];
  const scores = [
    [left, right],
    [right, left],
  ].find(([, factor]) => isCausal(factor!, SEEN, call, context))?.[0];
  if (scores === undefined) return 'its scores come from mul';
  return ending(call, scoresOf(scores, context), (of) => (isMasked(of) ? MASKED_TWICE : { hasZeros: true }));
}

/** The scores that `call`, a difference, subtracts a mask from. */
function lessScores(call: Call, context: Context): Scores | string {
  const [scores, mask] = call.uses as [number, number];
  const isWhole = isSameShape(context.shapeOf(scores), context.shapeOf(call.results[0]!));
  const isMask = isWhole && isCausal(mask, SUBTRACTED, call, context);
  return isMask ? causalScores(call, scores, context) : 'something that is no causal mask is subtracted';
}

/** Whether `value`, which `call` takes beside scores, is a causal mask of them. */
const isCausal = (value: number, marks: Marks, call: Call, { elementsOf, shapeOf }: Context): boolean => {
  const elements = elementsOf(value);
  if (elements === undefined) return false;
  return isCausalMask(elements, shapeOf(value), shapeOf(call.results[0]!), marks);
};

const causalScores = (call: Call, scores: number, context: Context): Scores | string =>
  ending(call, scoresOf(scores, context), (of) => (isMasked(of) ? MASKED_TWICE : { isCausal: true }));

/** The scores that `call`, a sum, adds a mask to. */
function maskedScores(call: Call, context: Context): Scores | string {
  const { shapeOf } = context;
  const [a, b] = call.uses as [number, number];
  const isWhole = (value: number): boolean => isSameShape(shapeOf(value), shapeOf(call.results[0]!));
  const withMask = (value: number, mask: number): Scores | string =>
    isWhole(value)
      ? ending(call, scoresOf(value, context), (scores) => (isMasked(scores) ? MASKED_TWICE : { mask }))
      : 'its scores are broadcast';
  const first = withMask(a, b);
  if (typeof first !== 'string') return first;
  const second = withMask(b, a);
  return typeof second === 'string' ? first : second;
}

/** The scores after a further call. */
function ending(
  call: Call,
  scores: Scores | string,
  change: (scores: Scores) => Partial<Scores> | string,
): Scores | string {
  if (typeof scores === 'string') return scores;
  const changed = change(scores);
  if (typeof changed === 'string') return changed;
  return { ...scores, ...changed, members: [...scores.members, call] };
}
