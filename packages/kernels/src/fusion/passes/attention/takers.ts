import type { Call } from '../../graph.js';
import type { Context } from './context.js';
import { isConversion, kindOfView, scalingOf } from './factors.js';

/** A call that takes a value, behind calls that change its leading dims, its dtype or its scale. */
export interface Taker {
  readonly call: Call;
  /** Its place among the values that the call takes. */
  readonly place: number;
  /** Whether it takes the transposes. */
  readonly isTurned: boolean;
  /** The product of the numbers by which the value was multiplied before. */
  readonly factor: number;
}

interface Taken {
  readonly takers: readonly Taker[];
  /** The calls between the value and its takers. */
  readonly between: readonly Call[];
}

interface TakersOptions {
  /** Whether to look behind products with numbers. */
  readonly scales?: boolean;
  /** Further calls to look behind. */
  readonly isPassing?: (call: Call) => boolean;
}

/** The takers of `value`. */
export function takersOf(
  value: number,
  context: Context,
  { scales = false, isPassing = () => false }: TakersOptions = {},
): Taken {
  const takers: Taker[] = [];
  const between: Call[] = [];

  function follow(at: number, isTurned: boolean, factor: number): void {
    for (const call of context.users.of(at)) {
      if (call.kind !== 'call') continue;
      const kind = kindOfView(call, context);
      const scaling = scales ? scalingOf(call, context) : undefined;
      if (kind || scaling || isConversion(call, context) || isPassing(call)) {
        between.push(call);
        follow(call.results[0]!, isTurned !== (kind === 'turned'), factor * (scaling?.factor ?? 1));
      } else {
        call.uses.forEach((use, place) => use === at && takers.push({ call, place, isTurned, factor }));
      }
    }
  }

  follow(value, false, 1);
  return { takers, between };
}
