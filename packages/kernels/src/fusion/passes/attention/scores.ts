import { shortName } from '../../report.js';
import type { Call } from '../../graph.js';
import { isSameShape } from '../../same-shape.js';
import type { Context } from './context.js';
import { isConversion, kindOfView, scalingOf } from './factors.js';

/** How scores are made: `scale · product + mask`. */
export interface Scores {
  readonly product: Call;
  readonly scale: number;
  readonly mask: number | undefined;
  /** The calls that make them. */
  readonly members: readonly Call[];
}

/** How scores are made. If they are not made in this way, the reason. */
export function scoresOf(value: number, context: Context): Scores | string {
  const call = context.makers.get(value);
  if (!call) return 'its scores are no product';
  if (call.op === 'aten::bmm') return { product: call, scale: 1, mask: undefined, members: [call] };
  const scaling = scalingOf(call, context);
  if (scaling) {
    return ending(call, scoresOf(scaling.of, context), (scores) =>
      scores.mask === undefined
        ? { scale: scores.scale * scaling.factor }
        : 'its mask is multiplied by a number',
    );
  }
  if (kindOfView(call, context) === 'same' || isConversion(call, context)) {
    return ending(call, scoresOf(call.uses[0]!, context), () => ({}));
  }
  if (call.op === 'aten::add.Tensor' && call.args[2] === 1) return maskedScores(call, context);
  return `its scores come from ${shortName(call.op)}`;
}

/** The scores that `call`, a sum, adds a mask to. */
function maskedScores(call: Call, context: Context): Scores | string {
  const { shapeOf } = context;
  const [a, b] = call.uses as [number, number];
  const isWhole = (value: number): boolean => isSameShape(shapeOf(value), shapeOf(call.results[0]!));
  const withMask = (value: number, mask: number): Scores | string =>
    isWhole(value)
      ? ending(call, scoresOf(value, context), (scores) =>
          scores.mask === undefined ? { mask } : 'more than one mask is added',
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
