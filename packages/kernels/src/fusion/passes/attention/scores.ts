import { shortName } from '../../report.js';
import type { Call } from '../../graph.js';
import { isSameShape } from '../../same-shape.js';
import type { Context } from './context.js';
import { ADDED, isCausalMask, SEEN, SUBTRACTED, UNSEEN, type Marks } from './causal-mask.js';
import { isConversion, kindOfView, scalingOf } from './factors.js';

/** How scores are made: `scale · product + mask`, or `scale · product` where a query sees a key. */
export interface Scores {
  readonly product: Call;
  readonly scale: number;
  readonly mask: number | undefined;
  /** Whether a condition hides from each query the keys after it. There is no {@link mask} then. */
  readonly isCausal: boolean;
  /** The calls that make them. */
  readonly members: readonly Call[];
}

/** How scores are made. If they are not made in this way, the reason. */
export function scoresOf(value: number, context: Context): Scores | string {
  const call = context.makers.get(value);
  if (!call) return 'its scores are no product';
  if (call.op === 'aten::bmm')
    return { product: call, scale: 1, mask: undefined, isCausal: false, members: [call] };
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
  return `its scores come from ${shortName(call.op)}`;
}

const isMasked = ({ mask, isCausal }: Scores): boolean => mask !== undefined || isCausal;

/** The scores that `call`, a choice, takes where queries see keys. Elsewhere it takes a constant. */
function chosenScores(call: Call, context: Context): Scores | string {
  const [condition, yes, no] = call.uses as [number, number, number];
  const isHiding = (value: number): boolean => context.elementsOf(value)?.every(ADDED.isHidden) ?? false;
  if (isHiding(no) && isCausal(condition, SEEN, call, context)) return causalScores(call, yes, context);
  if (isHiding(yes) && isCausal(condition, UNSEEN, call, context)) return causalScores(call, no, context);
  return 'a condition that is no causal mask chooses its scores';
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
  ending(call, scoresOf(scores, context), (of) =>
    isMasked(of) ? 'it has more than one mask' : { isCausal: true },
  );

/** The scores that `call`, a sum, adds a mask to. */
function maskedScores(call: Call, context: Context): Scores | string {
  const { shapeOf } = context;
  const [a, b] = call.uses as [number, number];
  const isWhole = (value: number): boolean => isSameShape(shapeOf(value), shapeOf(call.results[0]!));
  const withMask = (value: number, mask: number): Scores | string =>
    isWhole(value)
      ? ending(call, scoresOf(value, context), (scores) =>
          isMasked(scores) ? 'it has more than one mask' : { mask },
        )
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
