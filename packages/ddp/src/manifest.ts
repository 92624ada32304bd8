import { AccError, type Collective } from '@acc/contract';
import type { Variable } from '@tensorflow/tfjs-core';

/** The properties of a variable that must be the same on every rank. */
export interface VariableDescription {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: string;
}

/** @throws AccError `ACC_VARIABLES_DIFFER` with the first differences on each rank. */
export function requireSameVariables(variables: readonly Variable[], collective: Collective): void {
  const own = variables.map(({ name, shape, dtype }): VariableDescription => ({ name, shape, dtype }));
  requireSameManifests(collective.allGatherObject(own));
}

const SHOWN = 5;

/** @param manifests The variables of every rank, by rank. */
export function requireSameManifests(manifests: readonly (readonly VariableDescription[])[]): void {
  const longest = Math.max(...manifests.map((manifest) => manifest.length));
  const differing: string[] = [];
  for (let i = 0; i < longest; i++) {
    const sides = manifests.map((manifest) => formatVariable(manifest[i]));
    if (sides.some((side) => side !== sides[0])) {
      differing.push(
        `  variable ${i}:\n${sides.map((side, rank) => `    rank ${rank}: ${side}`).join('\n')}`,
      );
    }
  }
  if (differing.length === 0) return;
  const more = differing.length > SHOWN ? `\n  … and ${differing.length - SHOWN} more` : '';
  throw new AccError(
    'ACC_VARIABLES_DIFFER',
    `Ranks prepared different variables:\n${differing.slice(0, SHOWN).join('\n')}${more}`,
    {
      help: 'Build the same models in the same order on every rank before prepare.',
      details: { manifests },
    },
  );
}

function formatVariable(variable: VariableDescription | undefined): string {
  return variable ? `${variable.name} ${variable.dtype}[${variable.shape.join(',')}]` : '(none)';
}
