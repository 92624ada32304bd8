import {
  AdadeltaOptimizer,
  AdagradOptimizer,
  AdamaxOptimizer,
  AdamOptimizer,
  env,
  MomentumOptimizer,
  RMSPropOptimizer,
  SGDOptimizer,
  type Optimizer,
  type Tensor,
  type Variable,
} from '@tensorflow/tfjs-core';
import {
  namedGradients,
  registeredVariable,
  slotListsOf,
  updatesOf,
  type Gradients,
  type Update,
} from '@acc/kernels';
import { AdamW, SgdW } from '@acc/optimizers';
import { optimizerInternals } from '@acc/tfjs-internals';
import { DataTypes } from '../backend.js';
import type { Operators } from '../operators.js';
import type { Registers } from '../registers.js';
import { adamw, sgdw } from './our-rules.js';
import { Step, type Rule } from './rule.js';
import { adadelta, adagrad, adam, adamax, momentum, rmsprop, sgd } from './tfjs-rules.js';

/** Keyed by the exact class: a subclass may take other steps. */
const RULES: ReadonlyMap<unknown, Rule<never>> = new Map<unknown, Rule<never>>([
  [SGDOptimizer, sgd],
  [MomentumOptimizer, momentum],
  [AdagradOptimizer, adagrad],
  [AdadeltaOptimizer, adadelta],
  [RMSPropOptimizer, rmsprop],
  [AdamOptimizer, adam],
  [AdamaxOptimizer, adamax],
  [AdamW, adamw],
  [SgdW, sgdw],
]);

/**
 * `optimizer.applyGradients` by TensorFlow's operators that update a variable and its state in one
 * pass, in place. Undefined for a class without a rule. The class's own method takes the steps that
 * these operators cannot take: other dtypes than float32, shapes that need broadcasting, variables
 * that tfjs does not know, and all steps in debug mode.
 */
export function fusedApplyOn(operators: Operators, registers: Registers) {
  return (optimizer: Optimizer): Optimizer['applyGradients'] | undefined => {
    const rule = RULES.get(optimizer.constructor) as Rule<Optimizer> | undefined;
    if (!rule) return undefined;
    const ofClass = optimizer.constructor.prototype as Optimizer;
    return (given) => {
      const updates = env().getBool('DEBUG') ? undefined : fitting(operators, registers, optimizer, given);
      if (!updates) return ofClass.applyGradients.call(optimizer, given);
      using step = new Step(operators, registers);
      const update = rule.open(optimizer, step);
      for (const each of updates) update(each);
      rule.advance?.(optimizer);
      optimizerInternals(optimizer).incrementIterations();
    };
  };
}

/** Undefined, with at most state created, if the class's own method must take the step. */
function fitting(
  operators: Operators,
  registers: Registers,
  optimizer: Optimizer,
  given: Gradients,
): Update[] | undefined {
  const gradients = namedGradients(given);
  const variables: Variable[] = [];
  for (const { name } of gradients) {
    const variable = registeredVariable(name);
    if (!variable) return undefined;
    variables.push(variable);
  }
  const updates = updatesOf(gradients, variables, slotListsOf(optimizer)!).filter(
    ({ variable }) => variable.size > 0,
  );
  return updates.every((update) => fits(operators, registers, update)) ? updates : undefined;
}

function fits(operators: Operators, registers: Registers, { variable, grad, state }: Update): boolean {
  const written = [variable, ...state];
  const hasShape = (x: Tensor) => x.shape.join() === variable.shape.join();
  return (
    [grad, ...written].every((x) => x.dtype === 'float32' && hasShape(x)) &&
    operators.entryOf(grad).dtype === DataTypes.float32 &&
    written.every((x) => registers.canWrite(x) && x.dataId !== grad.dataId)
  );
}
