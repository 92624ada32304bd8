import { adviceFor } from './advice.js';
import type { Variants } from './variants.js';

/** The number of calls that neither are replayed nor show whether they could be. */
export interface UncompiledCalls {
  readonly inRecording: number;
  readonly watched: number;
}

/** The text of `CompiledStep.explain`. */
export function explain<R>(
  variants: Pick<Variants<R>, 'explanations' | 'unreplayed'>,
  reason: string | undefined,
  asUsual: UncompiledCalls,
): string {
  const [replayed, others] = [variants.explanations(), variants.unreplayed()];
  const blocks = [
    ...refusalLines(reason, replayed.length > 0),
    ...replayed,
    ...others,
    ...callsThatRan(asUsual.inRecording, 'another compiled step, as a part of its recording'),
    ...callsThatRan(asUsual.watched, 'a gradient computation, tf.profile or debug mode, without replay'),
  ];
  if (replayed.length === 0 && reason === undefined) blocks.unshift('The step is not replayed yet.');
  return blocks.join('\n\n');
}

const callsThatRan = (count: number, where: string): string[] =>
  count === 0 ? [] : [`${count} ${count === 1 ? 'call' : 'calls'} ran inside ${where}.`];

function refusalLines(reason: string | undefined, isReplayed: boolean): string[] {
  if (reason === undefined) return [];
  const advice = adviceFor(reason);
  const who = isReplayed ? 'Calls with some arguments run' : 'The step runs';
  return [`${who} without replay: ${reason}.${advice === undefined ? '' : `\nWhat to do: ${advice}`}`];
}
