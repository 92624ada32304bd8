import type { Variable } from '@tensorflow/tfjs-core';
import type { ActionOptions, NativeDtype, RecordedAction } from '@acc/contract';
import type { FixedInput, OutputMeta } from '@acc/native';
import { areOfOneKind, type RecordedForm } from './recorded-form.js';

/** Facts about a tensor from outside at recording time. `shape` and `dtype` are those of its native data. */
interface SourceData {
  readonly shape: readonly number[];
  readonly dtype: NativeDtype;
  readonly form: RecordedForm;
}

/** The source of a tensor from outside. */
export type Source =
  | ({ readonly kind: 'argument'; readonly index: number } & SourceData)
  | ({ readonly kind: 'variable'; readonly variable: Variable; readonly isTrainable: boolean } & SourceData)
  /** A tensor that the step captured, by its handle: the same in every replay. */
  | { readonly kind: 'captured'; readonly id: number };

/**
 * The result of an action. `shape` is that of its native data at recording time, or of a deferred
 * tensor.
 */
export interface Given {
  readonly shape: readonly number[];
  readonly form: RecordedForm;
  /**
   * The number of a deferred tensor, such as a sharded gradient. It goes to later actions as it is,
   * and native calls do not take it.
   */
  readonly handed?: number;
}

/** JavaScript that follows native calls. */
export interface SegmentAction extends ActionOptions {
  readonly run: RecordedAction;
  /** See `SourcePlaces`. -1 for none. */
  readonly place: number;
}

/** A difference between two recordings of a step. */
export interface SourceDifference {
  readonly text: string;
  /** The place of the later recording at which they differ. */
  readonly place?: number | undefined;
  /** An input of a segment of the later recording in which they differ. */
  readonly input?: { readonly segment: number; readonly index: number };
}

/** Native calls and the action that follows them. No action follows the last segment. */
export interface RecordedSegment {
  /** The previous action's results; null for a null result. */
  readonly given: readonly (Given | null)[];
  readonly sources: readonly Source[];
  /**
   * For each of the action's inputs, or of the step's results: the number of the deferred tensor, if
   * it is one that an action gave.
   */
  readonly handed: readonly (number | undefined)[];
  /**
   * The action's inputs, or the step's results, without those of {@link handed}; then the new values
   * of {@link assigned}.
   */
  readonly outputs: readonly OutputMeta[];
  /** Of {@link outputs}. */
  readonly forms: readonly RecordedForm[];
  readonly assigned: readonly Variable[];
  readonly action: SegmentAction | undefined;
}

/** The inputs of a segment that are results of the action before it. They come first. */
export const countGivenInputs = ({ given }: RecordedSegment): number =>
  given.filter((each) => each && each.handed === undefined).length;

/** The captured tensors among the inputs of native calls. */
export function fixedInputsOf(segments: readonly RecordedSegment[]): FixedInput[] {
  return segments.flatMap((recorded, segment) => {
    const count = countGivenInputs(recorded);
    return recorded.sources.flatMap((source, i) =>
      source.kind === 'captured' ? [{ segment, input: count + i, id: source.id }] : [],
    );
  });
}

/**
 * Why two recordings of a step, of which `theirs` is the later one, cannot be one. Undefined if both
 * take and assign the same.
 */
export function differenceOfSources(
  ours: readonly RecordedSegment[],
  theirs: readonly RecordedSegment[],
): SourceDifference | undefined {
  for (const [segment, { sources }] of ours.entries()) {
    const others = theirs[segment]?.sources ?? [];
    const index = sources.findIndex((source, i) => !isSameSource(source, others[i]));
    if (index >= 0) {
      return {
        text: 'it uses changing tensors that are neither arguments nor variables',
        input: { segment, index },
      };
    }
  }
  const text = differenceOfForms(ours, theirs);
  const changed = ours.findIndex(({ action }, i) => action?.user !== theirs[i]?.action?.user);
  if (changed < 0) return text === undefined ? undefined : { text };
  return { text: 'it uses different optimizers in different runs', place: theirs[changed]?.action?.place };
}

function differenceOfForms(
  ours: readonly RecordedSegment[],
  theirs: readonly RecordedSegment[],
): string | undefined {
  const assigned = (segments: readonly RecordedSegment[]) => segments.flatMap((segment) => segment.assigned);
  const otherAssigned = assigned(theirs);
  const other = assigned(ours).find((variable, i) => variable !== otherAssigned[i]);
  if (other) return `it assigns different variables in different runs, such as '${other.name}'`;
  const handed = (segments: readonly RecordedSegment[]) =>
    segments.map((segment) => segment.handed.join()).join(';');
  if (handed(ours) !== handed(theirs))
    return 'it passes sharded values on in different ways in different runs';
  const forms = (segments: readonly RecordedSegment[]) => segments.flatMap((segment) => segment.forms);
  const otherForms = forms(theirs);
  const isHeldAlike = forms(ours).every((form, i) => areOfOneKind(form, otherForms[i]));
  return isHeldAlike ? undefined : 'it cuts tensors over ranks in different ways in different runs';
}

function isSameSource(a: Source, b: Source | undefined): boolean {
  if (a.kind === 'captured') return b?.kind === 'captured' && a.id === b.id;
  if (!b || b.kind === 'captured' || !areOfOneKind(a.form, b.form)) return false;
  if (a.kind === 'variable')
    return b.kind === 'variable' && a.variable === b.variable && a.isTrainable === b.isTrainable;
  return b.kind === 'argument' && a.index === b.index;
}
