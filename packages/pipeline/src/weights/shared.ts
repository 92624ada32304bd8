import { add, dispose, zeros, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import { localPartOf, type Collective } from '@acc/contract';
import type { SharedWeight } from '../stages/plan.js';

/**
 * Gets the values of the weights that this rank uses and another one holds. Every rank of the
 * pipeline calls it. The caller disposes the tensors.
 */
export function borrowed(
  shared: readonly SharedWeight[],
  pipe: Collective,
  ownValues: (variable: Variable) => Tensor,
): Map<Variable, Tensor> {
  const sent = shared
    .filter(({ owner }) => owner === pipe.rank)
    .flatMap(({ variable, users }) =>
      users.map((user) => pipe.sendAsync(ownValues(variable), user, slotOf(variable))),
    );
  const values = new Map<Variable, Tensor>();
  for (const { variable, owner, users } of shared) {
    if (users.includes(pipe.rank)) values.set(variable, pipe.recv(owner, slotOf(variable)));
  }
  for (const pending of sent) pending.wait();
  return values;
}

/**
 * Adds the gradients of the weights to those of the rank that holds them, in `grads`, and removes
 * them from those of the other ranks. Every rank of the pipeline calls it.
 */
export function returnGradients(
  shared: readonly SharedWeight[],
  pipe: Collective,
  grads: Map<Variable, Tensor>,
): void {
  const sent = shared.flatMap(({ variable, owner, users }) => {
    if (!users.includes(pipe.rank)) return [];
    const grad = grads.get(variable) ?? zeros(localPartOf(variable)?.own.shape ?? variable.shape);
    const pending = pipe.sendAsync(grad, owner, slotOf(variable));
    grad.dispose();
    grads.delete(variable);
    return [pending];
  });
  for (const { variable, owner, users } of shared) {
    if (owner !== pipe.rank) continue;
    for (const user of users) addTo(grads, variable, pipe.recv(user, slotOf(variable)));
  }
  for (const pending of sent) pending.wait();
}

const slotOf = ({ name }: Variable) => ({ slot: `weight ${name}` });

function addTo(grads: Map<Variable, Tensor>, variable: Variable, grad: Tensor): void {
  const before = grads.get(variable);
  if (before) {
    grads.set(variable, add(before, grad));
    dispose([before, grad]);
  } else grads.set(variable, grad);
}
