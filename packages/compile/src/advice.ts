/** Advice for the reasons for which a step runs without replay. The first pattern that fits counts. */
const ADVICE: readonly (readonly [reason: RegExp, advice: string])[] = [
  [
    /reads values back|looks at memory/,
    'Return the tensor, and read it outside of the step. Instead of an if, use tf.where.',
  ],
  [
    /takes a number from|depends on values/,
    'Compute this outside of the step, and pass the result as an argument.',
  ],
  [
    /draws numbers in JavaScript/,
    'Draw outside of the step and pass the tensor, or use dropout of @acc/kernels or of layers.',
  ],
  [/gives weighLoss a tensor/, 'Give weighLoss a number, or leave the step without replay.'],
  [/asks who else holds/, 'Give the optimizer to accelerator.prepare.'],
  [/on tfjs's cpu backend/, 'Compute this outside of the step, or with other operators.'],
  [/reads strings/, 'Handle strings outside of the step.'],
  [/it awaits/, 'Do not await in the step.'],
  [/shares? (its|their) data/, 'Use a copy of one of them, such as tf.add(x, 0).'],
  [/writes in place/, 'Use the operator that returns a new tensor.'],
  [/it keeps tensors/, 'Return these tensors: the caller owns them.'],
  [/it disposes tensors/, 'Dispose these tensors outside of the step.'],
  [/makes or disposes variables/, 'Make variables before the first call of the step.'],
  [/different optimizers/, 'Make the optimizer before the first call of the step.'],
  [/records of its arguments/, 'Return new values instead of changing arguments.'],
  [/tensor from outside/, 'Return a clone of it.'],
  [/combinations of shapes/, 'Pass numbers that change as scalar tensors.'],
  [/contain a disposed tensor/, 'Pass living tensors, and return new values instead of changing arguments.'],
  [/its arguments contain/, 'Pass tensors, plain values, and arrays and records of these.'],
  [/cannot record steps/, "Train on the backend 'acc'."],
  [/noSync/, 'Compile the part of the step that does not call noSync.'],
  [/deterministic/, 'Leave deterministic training, or run the step as it is.'],
  [/registerHook/, 'Take the hook away by remove(), or run the step as it is.'],
  [/its replay failed/, 'Call accelerator.compile again when the cause is gone.'],
  [
    /from run to run|in one run|different|changing tensors|changes? |other calls/,
    'Pass what changes as an argument: a tensor, or a plain value, which has a recording for each value.',
  ],
];

/** Advice for a reason. Undefined if nothing is known. */
export function adviceFor(reason: string): string | undefined {
  return ADVICE.find(([pattern]) => pattern.test(reason))?.[1];
}
