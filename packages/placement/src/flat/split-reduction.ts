import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { GradientReduction } from '@acc/contract';

/** How each of the two groups of variables is reduced. */
export interface SplitReductions {
  divided(variables: readonly Variable[]): GradientReduction;
  /** Undefined if there is nothing to reduce. */
  whole(variables: readonly Variable[]): GradientReduction | undefined;
  /** Called when the pass has ended. */
  end(): void;
}

/** A reduction in which some variables go one way, and the others another. */
export function splitReduction(
  variables: readonly Variable[],
  isDivided: (variable: Variable) => boolean,
  reductions: SplitReductions,
): GradientReduction {
  const places: readonly [number[], number[]] = [[], []];
  const routes = variables.map((variable, i) => {
    const group = isDivided(variable) ? 0 : 1;
    return [group, places[group].push(i) - 1] as const;
  });
  const of = (group: 0 | 1) => places[group].map((i) => variables[i]!);
  const pair = [reductions.divided(of(0)), reductions.whole(of(1))] as const;
  return {
    ready(index, grad) {
      const [group, place] = routes[index]!;
      pair[group]!.ready(place, grad);
    },
    finish() {
      const results = pair.map((reduction) => reduction?.finish() ?? []);
      reductions.end();
      return routes.map(([group, place]): Tensor | null => results[group]![place]!);
    },
  };
}
